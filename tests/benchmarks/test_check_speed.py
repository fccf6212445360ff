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
from workbench.environment import linker
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


def loop(paths: Sequence[Path], caches: str) -> tuple[float, float]:
    """Seconds of the loop itself and of its whole process, both for all paths."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": caches}
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", LOOP, *map(str, paths)], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout.split()[-1]), time.perf_counter() - started


def alone() -> list[tuple[str, int, float]]:
    """The rows without our servers. The header and the probe for vector instructions are paid before the clock runs, as for servers."""
    paths = programs()
    with tempfile.TemporaryDirectory() as caches:
        first = Path(caches) / "first.py"
        first.write_text("import torch\ndef fn(x): return x.tan() * 3\ndef get_inputs(): return [torch.ones(9)]\n")
        loop([first], caches)
        cold = sum(loop([path], caches)[1] for path in paths[:: COUNT // COLD])
    with tempfile.TemporaryDirectory() as caches:
        return [("cold process each", COLD, cold), ("plain loop in one process", COUNT, loop(paths, caches)[0])]


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
        return time.perf_counter() - started


def test_a_warm_server_is_far_faster_than_a_cold_process() -> None:
    paths = programs()
    rows = alone()
    with Pool(jobs=2) as pool:
        rows.append(("warm server, --jobs 1", COUNT, timed(pool, paths, 1)))
        rows.append(("warm servers, --jobs 2", COUNT, timed(pool, paths, 2)))
        started = time.perf_counter()
        for path in paths:
            Judge(pool).check(Program(path.read_text()))
        rows.append(("whole verdict, --jobs 1", COUNT, time.perf_counter() - started))
    print()  # noqa: T201 - a benchmark prints
    print(f"{'seconds a check':28} {'programs':>8} {'seconds':>8}")  # noqa: T201
    for name, count, seconds in rows:
        print(f"{name:28} {count:8d} {seconds / count:8.2f}")  # noqa: T201
    print(f"linker {linker() or 'ld'}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")  # noqa: T201
    cold, warm = rows[0][2] / COLD, rows[2][2] / COUNT
    assert warm < cold / 2
