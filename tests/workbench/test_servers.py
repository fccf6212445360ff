"""The pool of servers: starting, sharing, replacing and ending them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from workbench.connection import Ended
from workbench.errors import RunnerError
from workbench.runner import protocol
from workbench.runner.protocol import Request
from workbench.scratch import Scratch
from workbench.servers import Pool, _judge

PROGRAM = "import torch, time, os\ndef fn(x):\n    {0}\n    return x\ndef get_inputs():\n    return [torch.ones(2)]\n"


def interpreter(folder: Path, script: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def failure(python: str) -> RunnerError:
    with Pool(python=python) as pool, pytest.raises(RunnerError) as caught:
        pool.run(Request("run", ""))
    return caught.value


def test_an_interpreter_that_does_not_exist_is_one_clear_line(tmp_path: Path) -> None:
    error = failure(str(tmp_path / "nowhere"))
    assert "cannot be started (No such file or directory)" in error.message
    assert "--python" in error.hint


def test_an_interpreter_without_torch_is_named_with_the_reason(tmp_path: Path) -> None:
    error = failure(interpreter(tmp_path, f'exec {sys.base_prefix}/bin/python3 -I -S "$@"'))
    assert "No module named 'torch'" in error.message
    assert error.exit_code == 3


def test_a_server_that_dies_at_its_start_says_its_last_words(tmp_path: Path) -> None:
    error = failure(interpreter(tmp_path, "echo first >&2; echo the last words >&2; exit 7"))
    assert "exit code 7" in error.message
    assert "the last words" in error.message


def test_a_torch_that_fails_to_import_shows_its_last_line(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so: undefined symbol')\n")
    error = failure(interpreter(tmp_path, f'PYTHONPATH={tmp_path} exec {sys.base_prefix}/bin/python3 -S "$@"'))
    assert "OSError: libtorch.so: undefined symbol" in error.message


def test_an_unknown_layer_is_refused() -> None:
    with pytest.raises(RunnerError, match="no isolation layer is called 'moat'"):
        Pool(without=("moat",))


def test_a_closed_pool_runs_nothing() -> None:
    pool = Pool()
    pool.close()
    with pytest.raises(RunnerError, match="closed"):
        pool.run(Request("run", ""))


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (protocol.frame("a" * 32, {"outcome": "returned"}, b"blob"), "ok"),
        (protocol.frame("b" * 32, {"outcome": "returned"}), "forged"),
        (protocol.frame("a" * 32, {"outcome": "returned"})[:-1], "forged"),
        (protocol.frame("a" * 32, {"outcome": "returned"}) + b"x", "forged"),
        (b"junk", "forged"),
        (b"", "died"),
    ],
)
def test_only_a_whole_frame_of_this_run_counts(data: bytes, status: str) -> None:
    run = _judge(Ended("exited", data), "a" * 32, 1.0)
    assert run.status == status
    assert (run.document is None) == (status != "ok")


def test_scratch_of_a_dead_host_is_removed_at_the_next_start() -> None:
    script = "from workbench.scratch import Scratch; s = Scratch(); s.folder('x'); print(s.root, flush=True); import os; os.kill(os.getpid(), 9)"
    dead = Path(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False).stdout.strip())
    assert dead.is_dir()
    living = Scratch()
    try:
        assert not dead.exists()
        other = Scratch()
        assert living.root.is_dir()
        other.close()
    finally:
        living.close()
    assert not living.root.exists()


def test_scratch_that_nobody_may_enter_is_removed_all_the_same() -> None:
    scratch = Scratch()
    deep = scratch.folder("x")
    for _ in range(60):
        deep = deep / ("d" * 60)
        os.mkdir(os.path.relpath(deep))
    deep.chmod(0)
    scratch.close()
    assert not scratch.root.exists()


@pytest.mark.torch
def test_runs_in_threads_share_the_servers(pool: Pool) -> None:
    seen: list[str] = []

    def work(number: int) -> None:
        run = pool.run(Request("run", PROGRAM.format(f"print({number}, os.getcwd())")))
        seen.append(run.output.split()[0] if run.status == "ok" else run.status)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [str(number) for number in range(8)]


@pytest.mark.torch
def test_each_run_has_its_own_caches_and_leaves_none(pool: Pool) -> None:
    body = PROGRAM.format("print(os.environ['TORCHINDUCTOR_CACHE_DIR'], os.environ['HOME'])")
    folders = [pool.run(Request("run", body)).output.split() for _ in range(2)]
    assert not set(folders[0]) & set(folders[1])
    assert not any(Path(folder).exists() for pair in folders for folder in pair)


@pytest.mark.torch
def test_the_environment_names_what_judges(pool: Pool) -> None:
    found = pool.environment()
    assert {"torch", "capability", "threads", "python", "compiler", "compiler_version", "missing", "problem"} <= found.keys()
    assert found["threads"] == 1
    assert found["problem"] == ""


@pytest.mark.torch
def test_a_server_that_dies_costs_one_run_and_is_replaced() -> None:
    with Pool() as pool:
        pool.environment()
        (server,) = pool._all
        threading.Timer(1.0, lambda: os.kill(server._process.pid, signal.SIGKILL)).start()
        lost = pool.run(Request("run", PROGRAM.format("time.sleep(60)")))
        assert lost.status == "died"
        assert "signal 9" in lost.detail
        assert pool.run(Request("run", PROGRAM.format("pass"))).status == "ok"


@pytest.mark.torch
def test_closing_ends_a_run_under_way_at_once() -> None:
    pool = Pool()
    pool.environment()
    threading.Timer(1.0, pool.close).start()
    started = time.monotonic()
    lost = pool.run(Request("run", PROGRAM.format("time.sleep(60)")))
    assert lost.status == "died"
    assert time.monotonic() - started < 30


@pytest.mark.torch
def test_closing_does_not_wait_for_a_start() -> None:
    pool = Pool()
    threading.Timer(0.5, pool.close).start()
    started = time.monotonic()
    with pytest.raises(RunnerError, match="closed"):
        pool.environment()
    assert time.monotonic() - started < 10


HOST = """
import sys, threading
from workbench.runner.protocol import Limits, Request
from workbench.servers import Pool
pool = Pool()
if len(sys.argv) > 1:
    pool.environment()
    body = "import os, time\\nif os.fork() == 0: os.setsid()\\nprint(1)\\ntime.sleep(300)\\ndef fn(): pass\\ndef get_inputs(): return []"
    threading.Timer(1.0, lambda: print(pool._scratch.root, flush=True)).start()
    pool.run(Request("run", body, limits=Limits(seconds=300)))
else:
    threading.Timer(1.0, lambda: print(pool._scratch.root, flush=True)).start()
    pool.environment()
"""


@pytest.mark.torch
@pytest.mark.parametrize("when", ["while starting", "during a run"])
def test_a_killed_host_leaves_no_process_and_no_scratch(when: str) -> None:
    host = subprocess.Popen([sys.executable, "-c", HOST, *(["run"] if when == "during a run" else [])], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    root = Path(host.stdout.readline().strip())
    assert processes_in(root)
    host.kill()
    host.wait()
    host.stdout.close()
    until = time.monotonic() + 30
    while processes_in(root) and time.monotonic() < until:
        time.sleep(0.1)
    assert not processes_in(root)
    Scratch().close()  # the next start
    assert not root.exists()


def processes_in(root: Path) -> list[str]:
    """Processes whose environment or working folder names this host's scratch."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(root) in os.readlink(f"/proc/{pid}/cwd") or str(root).encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


@pytest.mark.torch
@pytest.mark.parametrize(("limit", "value"), [("RUNS", 2), pytest.param("GROWTH_MB", -1, marks=pytest.mark.quality)])
def test_a_server_is_replaced_before_it_grows(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"workbench.servers.{limit}", value)
    with Pool() as pool:
        request = Request("run", PROGRAM.format("pass"))
        pids = []
        for _ in range(2):
            assert pool.run(Request("run", PROGRAM.format("print(os.getppid())"))).status == "ok"
            pids += [server._process.pid for server in pool._all]
            if limit == "RUNS":
                assert pool.run(request).status == "ok"
        assert pool._all == set()  # the next run starts another
    assert len(set(pids)) == (2 if limit == "RUNS" else 0)
