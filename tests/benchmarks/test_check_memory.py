"""Memory, disk and processes over 2,000 checks: nothing grows, and what serves is replaced before it could.

Most checks compile with a backend that costs little; every fiftieth goes through Inductor. Prints a row every 250 checks.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from workbench.environment import header_folder
from workbench.runner.protocol import Request
from workbench.runner.table import descendants, resident_mb
from workbench.servers import RUNS, Pool

pytestmark = [pytest.mark.torch, pytest.mark.benchmark]

CHECKS = int(os.environ.get("WORKBENCH_CHECKS", "2000"))
EVERY = 250
PROGRAM = "import torch\nN = {number}\ndef fn(x):\n    return (x.sin() * N).sum(-1)\ndef get_inputs():\n    return [torch.randn(64, 64)]\n"


def megabytes(folder: Path) -> float:
    """Files beneath a folder, as they lie on disk."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_blocks * 512
            except OSError:
                continue
    return total / (1 << 20)


def test_nothing_grows_over_two_thousand_checks() -> None:
    rows: list[tuple[int, int, int, float, float, int, int]] = []
    pids: set[int] = set()
    started = time.perf_counter()
    with Pool() as pool:
        pool.environment()
        for number in range(1, CHECKS + 1):
            backend = "inductor" if number % 50 == 0 else "eager"
            for compiled in (None, backend):
                request = Request("run", PROGRAM.format(number=number), backend=compiled, configuration={"backend": backend})
                assert pool.run(request).status == "ok"
            pids.update(server._process.pid for server in pool._all)
            if number % EVERY == 0 and pool._all:
                (server,) = pool._all
                below = descendants(server._process.pid)
                host, serving = resident_mb([os.getpid()]), resident_mb([server._process.pid])
                rows.append((number, host, serving, megabytes(pool._scratch.root), megabytes(header_folder()), len(below), len(pids)))
    print()  # noqa: T201 - a benchmark prints
    print(f"{'checks':>8}{'host MB':>10}{'server MB':>11}{'scratch MB':>12}{'headers MB':>12}{'processes':>11}{'servers':>9}")  # noqa: T201
    for checks, host, serving, scratch, headers, below, servers in rows:
        print(f"{checks:8d}{host:10d}{serving:11d}{scratch:12.1f}{headers:12.1f}{below:11d}{servers:9d}")  # noqa: T201
    seconds = (time.perf_counter() - started) / CHECKS
    print(f"{seconds:.3f} s a check (eager and one compiled run); a server is replaced after {RUNS} runs")  # noqa: T201
    first, last = rows[0], rows[-1]
    assert last[1] - first[1] <= 20
    assert max(row[2] for row in rows) - min(row[2] for row in rows) <= 60
    assert max(row[3] for row in rows) <= 5
    assert max(row[5] for row in rows) <= 8
