"""Tests per CPU-minute of a campaign beside a plain loop over torch's operator samples, in one run. The table is printed.

CPU seconds are those of all processes, the compiler's included; both sides have the whole machine, one after the other. ``FUZZ_SECONDS`` says
how long each may take (default 240).
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from store import open_store
from workbench.characteristics import codes
from workbench.fuzz.campaign import Campaign, Settings
from workbench.fuzz.mutators import mutators
from workbench.seeds import Seed, bundled, seeds_of
from workbench.servers import Pool

pytestmark = [pytest.mark.torch, pytest.mark.benchmark]

SECONDS = float(os.environ.get("FUZZ_SECONDS", "240"))
JOBS = len(os.sched_getaffinity(0))

LOOP = """
import random, sys, time, types, unittest, warnings
warnings.simplefilter("ignore")
sys.modules["expecttest"] = types.ModuleType("expecttest")  # torch's tests need it for assertions alone
sys.modules["expecttest"].TestCase, sys.modules["expecttest"].assert_expected_inline = unittest.TestCase, None
import torch
from torch.testing._internal.common_methods_invocations import op_db
torch.set_num_threads(1)
torch._inductor.config.compile_threads = 1
end, rng, tests, wrong = time.monotonic() + float(sys.argv[1]), random.Random(int(sys.argv[2])), 0, 0
while time.monotonic() < end:
    op = rng.choice(op_db)
    if torch.float32 not in op.supported_dtypes("cpu"):
        continue
    try:
        samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))
        sample = rng.choice(samples)
        torch.manual_seed(0)
        eager = op(sample.input, *sample.args, **sample.kwargs)
    except Exception:
        continue
    torch._dynamo.reset()
    tests += 1
    try:
        torch.manual_seed(0)
        compiled = torch.compile(lambda *a, **k: op(*a, **k))(sample.input, *sample.args, **sample.kwargs)
        torch.testing.assert_close(compiled, eager, equal_nan=True)
    except AssertionError:
        wrong += 1
    except Exception:
        pass
print("looped", tests, wrong)
"""
"""What a person writes first: one process, an operator, one of its samples, eager against compiled, assert_close."""


@dataclass(slots=True)
class Row:
    """One way of testing. ``cpu``: seconds of all its processes; ``buckets``: provisional, -1 where nobody sorts."""

    name: str
    tests: int
    seconds: float
    cpu: float
    mismatches: int
    buckets: int

    def text(self) -> str:
        rate = 60 * self.tests / self.cpu
        buckets = "-" if self.buckets < 0 else str(self.buckets)
        found = 3600 * self.mismatches / self.cpu
        return f"{self.name:44}{self.tests:7}{self.seconds:9.0f}{self.cpu:9.0f}{rate:14.1f}{self.mismatches:12}{buckets:>9}{found:14.1f}"


HEAD = f"{'':44}{'tests':>7}{'seconds':>9}{'CPU s':>9}{'tests/CPU min':>14}{'mismatches':>12}{'buckets':>9}{'per CPU-hour':>14}"


def cpu() -> float:
    """CPU seconds of every child that has ended and was waited for, and of what those waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain() -> Row:
    """As many loops at once as a campaign has jobs."""
    before, started = cpu(), time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    loops = [
        subprocess.Popen([sys.executable, "-c", LOOP, str(SECONDS), str(n)], stdout=subprocess.PIPE, text=True, env=environment)
        for n in range(JOBS)
    ]
    said = [re.search(r"looped (\d+) (\d+)", loop.communicate()[0]) for loop in loops]
    counts = [(int(m[1]), int(m[2])) for m in said if m]
    assert len(counts) == JOBS
    return Row("plain op_db loop", sum(c for c, _ in counts), time.monotonic() - started, cpu() - before, sum(w for _, w in counts), -1)


def campaign(path: str, name: str, strategy: str, seeds: list[Seed]) -> Row:
    before, started, own = cpu(), time.monotonic(), time.process_time()
    with open_store(path) as store, Pool(jobs=JOBS) as pool:
        settings = Settings(seconds=SECONDS, jobs=JOBS, strategy=strategy, reduce=False, seed=1)
        run = Campaign(store, pool, settings, list(mutators().values()), seeds, codes())
        run.run()
    used = cpu() - before + time.process_time() - own
    total = run.tallies.total
    return Row(name, total.tests, time.monotonic() - started, used, total.mismatches, len(run.buckets))


def test_tests_per_cpu_minute(tmp_path, capsys):
    rows = [plain()]
    samples = seeds_of([Path("opinfo:400")], seed=1)
    rows.append(campaign(str(tmp_path / "o.db"), "campaign, op_db unmutated", "unmutated", samples))
    rows.append(campaign(str(tmp_path / "u.db"), "campaign, bundled seeds unmutated", "unmutated", bundled()))
    rows.append(campaign(str(tmp_path / "r.db"), "campaign, rules on bundled seeds", "rules", bundled()))
    with capsys.disabled():
        sys.stdout.write("\n".join(["", HEAD, *(r.text() for r in rows), ""]))
    assert all(r.tests for r in rows)
