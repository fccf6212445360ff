"""Both errors of buckets on known bugs: distinct causes in one bucket, and one cause in many. The table is printed.

Each live case of ``tests/cases`` is mutated by rules that leave its bug alone (they add code around it); mutants that show another bug are left
out. They arrive as in a campaign, and the first of each bucket is reduced. ``BUCKET_MUTANTS`` mutants a case (default 10), ``BUCKET_CASES``
names cases; ten of each take hours.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reducers.search import Budget
from store import open_store
from store.records import Verdict
from store.store import Store
from workbench.batch import Batch
from workbench.errors import WorkbenchError
from workbench.fuzz.arrival import arrive
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import Maker, Mutant, Pick
from workbench.fuzz.mutators import mutators
from workbench.oracle.judge import Judge
from workbench.programs import parse_program
from workbench.sameness import bug_of, judged
from workbench.seeds import Seed
from workbench.servers import Pool

pytestmark = [pytest.mark.torch, pytest.mark.benchmark]

CASES = Path(__file__).parents[1] / "cases"
MUTANTS = int(os.environ.get("BUCKET_MUTANTS", "10"))
ASKED = os.environ.get("BUCKET_CASES", "").split()
ADDING = (
    "splice",
    "python_flow",
    "python_containers",
    "index_arithmetic",
    "reduction_chains",
    "join_and_split",
    "layout_chain",
    "no_op_chains",
    "cast_chain",
)
"""Mutators that add code and change none."""
JOBS = len(os.sched_getaffinity(0))
SAME_CAUSE = (
    {"issue_183901", "own_q09"},  # index arithmetic in a type too narrow
    {"own_p40", "own_q06", "own_q15"},  # a dead draw is dropped
    {"issue_198201", "own_p33"},  # resize recomputes a scale
    {"issue_198081", "own_p14"},  # any() of uint8
    {"own_q02", "own_q11", "own_q13", "own_q14"},  # a no-op of the graph passes returns its input
)
"""Cases that one mend would close."""


def family(name: str) -> str:
    return next((min(causes) for causes in SAME_CAUSE if name in causes), name)


def live() -> list[str]:
    """Names of the cases that differ silently, and of those whose error is missing."""
    entries = [json.loads(line) for line in (CASES / "cases.jsonl").read_text().splitlines()]
    found = [e["file"].removesuffix(".py") for e in entries if e["group"] in ("silent", "missing_error")]
    return [name for name in found if not ASKED or name in ASKED]


@dataclass(slots=True)
class Made:
    """The mutants of one case that show its bug. ``others``: those that agree or show another."""

    name: str
    mutants: list[tuple[Mutant, Verdict]] = field(default_factory=list)
    others: int = 0


def mutants_of(name: str, pool: Pool) -> Made:
    made, judge, maker = Made(name), Judge(pool), Maker(pool)
    program = parse_program((CASES / f"{name}.py").read_text(), name)
    bug = bug_of(judge.check(program))
    assert bug is not None, name
    for number in range(3 * MUTANTS):
        mutator = mutators()[ADDING[number % len(ADDING)]]
        mutant = maker.make(Pick(number, Draw(1, name, number), mutator, [Seed(name, program, "case")]))
        if mutant is None or not mutant.valid:
            continue
        verdict = judge.check(mutant.program)
        if bug_of(verdict) is not None and judged(bug, verdict)[0].value == "same":
            made.mutants.append((mutant, verdict))
        else:
            made.others += 1
        if len(made.mutants) == MUTANTS:
            break
    return made


def reduce_all(path: Path, pool: Pool) -> list[str]:
    """Reduce what is queued, as a campaign does but without cold runs; what could not be."""

    def work(number: int) -> list[str]:
        failed = []
        with open_store(path) as store:
            batch = Batch(store, pool, budget=Budget(seconds=120), certified=False)
            while (job := store.claim(["reduce"], f"w{number}", 3600)) is not None:
                try:
                    store.finish(job, batch.work(job, actor="minimize"))
                except WorkbenchError as error:
                    failed.append(f"#{job.finding_id}: {error.message}")
                    store.fail(job, error.message)
        return failed

    with ThreadPoolExecutor(JOBS) as threads:
        return [line for lines in threads.map(work, range(JOBS)) for line in lines]


def buckets(store: Store, origin: dict[int, str]) -> dict[str, set[int]]:
    """Buckets that hold mutants of a case."""
    found: dict[str, set[int]] = defaultdict(set)
    for finding, name in origin.items():
        bucket = store.finding(finding).bucket
        assert bucket is not None
        found[name].add(bucket)
    return found


def errors(found: dict[str, set[int]]) -> tuple[int, int, list[str]]:
    """(distinct causes too many in one bucket, buckets too many for one cause, what shares a bucket)."""
    by_bucket: dict[int, set[str]] = defaultdict(set)
    by_family: dict[str, set[int]] = defaultdict(set)
    for name, numbers in found.items():
        by_family[family(name)] |= numbers
        for number in numbers:
            by_bucket[number].add(family(name))
    shared = [f"bucket {b}: {', '.join(sorted(names))}" for b, names in sorted(by_bucket.items()) if len(names) > 1]
    return sum(len(n) - 1 for n in by_bucket.values()), sum(len(b) - 1 for b in by_family.values()), shared


def test_both_errors_of_buckets(tmp_path, capsys):
    path = tmp_path / "b.db"
    origin: dict[int, str] = {}
    with open_store(path) as store, Pool(jobs=JOBS) as pool:
        campaign = store.start_campaign({})
        with ThreadPoolExecutor(JOBS) as threads:
            all_made = list(threads.map(lambda name: mutants_of(name, pool), live()))
        for made in all_made:
            for mutant, verdict in made.mutants:
                origin[arrive(store, mutant, verdict, code="", campaign=campaign, reduce=True).row.id] = made.name
        before = buckets(store, origin)
        failed = reduce_all(path, pool)
        after = buckets(store, origin)
        lines = [f"{'case':22}{'mutants':>8}{'others':>8}{'provisional':>12}{'final':>7}  final signatures"]
        for made in all_made:
            told = sorted({store.finding(f).signature for f, name in origin.items() if name == made.name})
            counts = f"{len(made.mutants):8}{made.others:8}{len(before[made.name]):12}{len(after[made.name]):7}"
            lines.append(f"{made.name:22}{counts}  {' || '.join(told)}")
    for word, found in (("provisional", before), ("final", after)):
        merged, split, shared = errors(found)
        lines.append(f"{word}: {merged} causes too many in a bucket, {split} buckets too many for a cause; {'; '.join(shared)}")
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *lines, *failed, ""]))
    assert origin
