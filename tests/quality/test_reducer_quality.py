"""The reducer reaches what a person reaches by hand, on ordinary programs around real live mismatches (torch 2.13.0 CPU).

Each file under ``programs`` says the statements of the smallest repro that a person found, and the route that should get there. At most one
statement more is allowed, and the calls of the issue: 20 where the bug is that of a single operator, 40 on the graph route, 150 on the source
route. They count the cold runs of certification, which are not made here. What each took is printed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from reducers.tree import statements
from store.records import Outcome, Stage
from workbench.certification import RUNS as COLD_RUNS
from workbench.programs import parse_program
from workbench.reduction import Reducer
from workbench.servers import Pool

pytestmark = [pytest.mark.quality, pytest.mark.torch]
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
MOST_CALLS = {"single operator": 20, "graph": 40, "source": 150}
MOST_COMPILES = 60


@pytest.fixture(scope="module")
def pool():
    jobs = len(os.sched_getaffinity(0))
    with Pool(jobs=jobs) as made:
        yield made


def promised(text: str) -> tuple[int, int]:
    """Statements that a person reaches, and calls that may be asked."""
    hand = re.search(r"^# by hand: (\d+)", text, re.MULTILINE)
    route = re.search(r"^# route: (\w+)", text, re.MULTILINE)
    bug = re.search(r"^# bug: (.+)", text, re.MULTILINE)
    assert hand is not None
    assert route is not None
    return int(hand[1]), MOST_CALLS.get(bug[1] if bug else "", MOST_CALLS[route[1]])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_a_program_full_of_filler_is_reduced_to_what_a_person_would_post(pool, path, capsys):
    text = path.read_text()
    by_hand, most_calls = promised(text)
    reduced = Reducer(pool).run(parse_program(text, path.name))
    source, p = reduced.program.source, reduced.progress
    with capsys.disabled():
        sizes = f"{statements(text):3} -> {statements(source):2} statements (by hand {by_hand})"
        sys.stdout.write(f"\n{path.stem:20} {sizes}, {p.calls + COLD_RUNS:3} calls (at most {most_calls}), {p.compiles:3} compiles, {p.seconds:4.0f} s")
    assert reduced.after.outcome is Outcome.MISMATCH
    assert reduced.after.stage is reduced.before.stage
    assert statements(source) <= by_hand + 1, source
    assert p.calls + COLD_RUNS <= most_calls, source
    assert p.compiles <= MOST_COMPILES


THOUSAND = """# /// workbench
# backend = "aot_eager_decomp_partition"
# ///
import torch
import torch.nn as nn


class Block(nn.Module):
    def forward(self, x):
        y = x * 1.01
        return x + y.tanh() - y.mean()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.below = nn.Sequential(*[Block() for _ in range(120)])
        self.above = nn.Sequential(*[Block() for _ in range(80)])

    def forward(self, c, a, b):
        h = self.below(b)
        h = torch.addmm(c, a * float("nan"), h, alpha=0.0)
        return self.above(h)


def get_inputs():
    return [torch.zeros(4), torch.randn(1, 4), torch.randn(4, 4)]
"""
"""A model whose graph has a thousand nodes, with a bug of a decomposition in its midst."""


def test_a_model_of_a_thousand_nodes_becomes_one_statement(pool):
    reduced = Reducer(pool).run(parse_program(THOUSAND, "thousand.py"))
    assert reduced.after.stage is Stage.DECOMPOSITION
    assert statements(reduced.program.source) <= 2
    assert reduced.progress.calls <= MOST_CALLS["graph"]


def test_there_are_fifteen_programs_of_fifteen_statements_or_more():
    sizes = {p.stem: statements(p.read_text()) for p in PROGRAMS}
    assert len(sizes) >= 15
    assert sum(size >= 15 for size in sizes.values()) >= 15, sizes
