"""Certifies a repro: three cold runs, each on a fresh server with fresh caches, one of them with two threads (DESIGN §5)."""

from __future__ import annotations

from reducers.oracle import Kind
from store.records import Program
from workbench.oracle.judge import Demand, Judge
from workbench.oracle.runs import Setting
from workbench.sameness import Bug, judged
from workbench.servers import Pool

RUNS = 3
THREADS = 2


def certify(program: Program, bug: Bug, *, python: str | None = None, setting: Setting | None = None) -> tuple[int, int]:
    """(n, m): in n of m cold runs the program shows the bug; the first of them also makes sure of the guilty pass, where it is known."""
    same = 0
    for run in range(RUNS):
        configuration = program.configuration
        if run == RUNS - 1:
            configuration = configuration.with_(threads=max(THREADS, configuration.threads))
        with Pool(python=python) as pool:
            demand = Demand(blame=bug.guilty if run == 0 else "")
            verdict = Judge(pool, setting).check(Program(program.source, configuration, program.name), demand=demand)
        same += judged(bug, verdict)[0] is Kind.SAME
    return same, RUNS
