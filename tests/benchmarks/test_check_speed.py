"""Seconds a check (one eager and one compiled run) in a cold process each, on a warm server, in a plain loop, on the same programs.

The figures of DESIGN §4 come from a quiet machine; the table says how busy this one was.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import workbench.seeds
from store.records import Program
from workbench.environment import linker, linker_folder
from workbench.oracle.judge import Judge
from workbench.runner.protocol import Request
from workbench.servers import Pool

pytestmark = [pytest.mark.torch, pytest.mark.benchmark]

COUNT = 20
COLD = 5
"""Programs that also run in a cold process each: 8 to 16 s apiece."""

LOOP = """
import sys, time
import torch
torch.set_num_threads(1)
torch._inductor.config.compile_threads = 1

def check(path):
    space = {"__name__": "program"}
    exec(compile(open(path).read(), path, "exec"), space)
    fn = space["fn"] if "fn" in space else space["Model"](*space.get("get_init_inputs", list)())
    drive = space.get("drive", lambda fn, inputs: fn(*inputs))
    torch._dynamo.reset()
    torch.manual_seed(0)
    drive(fn, space["get_inputs"]())
    torch.manual_seed(0)
    drive(torch.compile(fn), space["get_inputs"]())

if len(sys.argv) > 2:
    check(sys.argv[1])  # the header and the imports are nobody's time
started = time.perf_counter()
for path in sys.argv[1:]:
    check(path)
print(time.perf_counter() - started)
"""


def programs() -> list[Path]:
    """Twenty bundled seeds, evenly spread over the names."""
    found = sorted((Path(workbench.seeds.__file__).parent / "bundled").glob("*.py"))
    assert len(found) >= COUNT
    return [found[i * len(found) // COUNT] for i in range(COUNT)]


def loop(paths: Sequence[Path], caches: str, **environment: str) -> tuple[float, float]:
    """Seconds of the loop itself and of its whole process, both for all paths."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": caches, **environment}
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", LOOP, *map(str, paths)], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout.split()[-1]), time.perf_counter() - started


def alone(paths: Sequence[Path], same_linker: dict[str, str]) -> dict[str, float]:
    """Seconds a program without our servers. The header and the probe for vector instructions are paid before the clock runs."""
    with tempfile.TemporaryDirectory() as caches:
        first = Path(caches) / "first.py"
        first.write_text("import torch\ndef fn(x): return x.tan() * 3\ndef get_inputs(): return [torch.ones(9)]\n")
        loop([first], caches)
        cold = sum(loop([path], caches)[1] for path in paths[:: COUNT // COLD]) / COLD
    with tempfile.TemporaryDirectory() as caches:
        plain = loop(paths, caches)[0] / COUNT
    with tempfile.TemporaryDirectory() as caches:
        linked = loop(paths, caches, **same_linker)[0] / COUNT
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other, ThreadPoolExecutor(2) as threads:
        halves = threads.map(lambda half: loop(*half, **same_linker)[0], [(paths[::2], one), (paths[1::2], other)])
        at_once = max(halves) / COUNT
    return {COLD_EACH: cold, PLAIN_LOOP: plain, LINKED_LOOP: linked, TWO_LOOPS: at_once}


def both(pool: Pool, path: Path) -> str:
    """One check: an eager and a compiled run."""
    source = path.read_text()
    configuration = {"backend": "inductor"}
    eager = pool.run(Request("run", source, configuration=configuration))
    compiled = pool.run(Request("run", source, backend="inductor", configuration=configuration))
    return f"{eager.status} {compiled.status}"


def timed(pool: Pool, paths: Sequence[Path], jobs: int) -> float:
    with ThreadPoolExecutor(jobs) as threads:
        list(threads.map(lambda path: both(pool, path), paths[:jobs]))  # starts the servers
        started = time.perf_counter()
        assert set(threads.map(lambda path: both(pool, path), paths)) == {"ok ok"}
        return (time.perf_counter() - started) / len(paths)


def new_shell(folder: Path, **environment: str) -> float:
    """Seconds of ``workbench check`` on one program, from nothing."""
    program = folder / "program.py"
    program.write_text("import torch\ndef fn(x):\n    return (x.sin() + 1).sum(-1)\ndef get_inputs():\n    return [torch.randn(8, 8)]\n")
    command = [sys.executable, "-m", "workbench", "check", str(program), "--fresh", "--db", str(folder / "w.db")]
    started = time.perf_counter()
    subprocess.run(command, env={**os.environ, **environment}, capture_output=True, check=True)
    return time.perf_counter() - started


COLD_EACH, PLAIN_LOOP, LINKED_LOOP = "cold process each", "plain loop in one process", "plain loop, our linker"
TWO_LOOPS = "two such loops, half of them each"
ONE, TWO, VERDICT = "warm server, --jobs 1", "warm servers, --jobs 2", "whole verdict, --jobs 1"
FIRST, FIRST_EVER = "first check of a new shell", "first check on a machine"

TARGETS = (
    ("overhead over the plain loop", ONE, PLAIN_LOOP, "at most 1.3"),
    ("overhead over that with our linker", ONE, LINKED_LOOP, ""),
    ("cold process against warm server", COLD_EACH, ONE, "at least 8"),
    ("cold process against that loop", COLD_EACH, LINKED_LOOP, "(no isolation: what this machine allows)"),
    ("one job against two", ONE, TWO, "at least 1.8"),
    ("one loop against two", LINKED_LOOP, TWO_LOOPS, "(what this machine allows)"),
)


def test_a_warm_server_is_far_faster_than_a_cold_process(tmp_path: Path) -> None:
    paths = programs()
    found = linker_folder(tmp_path)
    seconds = alone(paths, {"COMPILER_PATH": str(found)} if found else {})
    with Pool(jobs=2) as pool:
        seconds[ONE] = timed(pool, paths, 1)
        seconds[TWO] = timed(pool, paths, 2)
        judge, started = Judge(pool), time.perf_counter()
        for path in paths:
            judge.check(Program(path.read_text()))
        seconds[VERDICT] = (time.perf_counter() - started) / COUNT
    seconds[FIRST] = new_shell(tmp_path)
    seconds[FIRST_EVER] = new_shell(tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"))
    print(f"\n{'seconds a check':36}{'seconds':>8}")  # noqa: T201 - a benchmark prints
    for name, each in seconds.items():
        print(f"{name:36}{each:8.2f}")  # noqa: T201
    print(f"\n{'ratio':36}{'':>8}  target")  # noqa: T201
    for name, over, under, target in TARGETS:
        print(f"{name:36}{seconds[over] / seconds[under]:8.2f}  {target}")  # noqa: T201
    print(f"linker {linker() or 'ld'}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; targets are for a quiet machine")  # noqa: T201
    assert seconds[ONE] < seconds[COLD_EACH] / 2
