"""The processes of a run are found and ended alike with /proc and, as on macOS, without it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.runner import table

FAMILY = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from workbench.runner import family, table
table.PROC = {proc!r}
family.adopt_orphans()
child = os.fork()
if child == 0:
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    time.sleep(1000)
time.sleep(0.3)
whole = family.Family(child, 0, None)
print(len(whole.processes()))
whole.end()
print(len(whole.processes()))
"""


@pytest.fixture
def tree() -> Iterator[int]:
    """A shell with two sleepers below it, one of them below another shell."""
    shell = subprocess.Popen(["sh", "-c", "sleep 1000 & sh -c 'sleep 1000 & wait' & wait"], start_new_session=True)
    while len(table.descendants(shell.pid)) < 3:
        time.sleep(0.01)
    yield shell.pid
    os.killpg(shell.pid, 9)
    shell.wait()


def test_ps_tells_what_proc_tells(tree: int, monkeypatch: pytest.MonkeyPatch) -> None:
    first, below = table.children(tree), table.descendants(tree)
    monkeypatch.setattr(table, "PROC", "/nowhere")
    assert sorted(table.children(tree)) == sorted(first)
    assert sorted(table.descendants(tree)) == sorted(below)
    assert table.descendants(tree)[0] in first


def test_ps_counts_memory_that_a_process_owns(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys, time; held = b'x' * (200 << 20); print(len(held), flush=True); time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        monkeypatch.setattr(table, "PROC", "/nowhere")
        assert 200 <= table.resident_mb([process.pid]) < 300
        assert table.resident_mb([]) == 0
        process.kill()


@pytest.mark.parametrize("proc", ["/proc", "/nowhere"])
def test_a_family_ends_whole_also_what_left_its_session(proc: str) -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", FAMILY.format(root=root, proc=proc)], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["2", "0"], done.stderr
