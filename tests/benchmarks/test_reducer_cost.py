"""Calls, compiles, seconds and final statements of our reducer and of picire's line ddmin, on the same programs with the same warm oracle.

picire keeps what it was made for: lines, its parallel loop off, its content cache on. Each reduction has ten minutes; what it reached until
then counts. Both pay for the verdict that says which bug to keep. The table is printed and, with ``REDUCER_TABLE`` set, written there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reducers.oracle import Candidate, Kind
from reducers.search import Budget
from reducers.tree import statements
from store.records import LADDER, Configuration, Program, Verdict
from workbench.oracle.judge import Demand, Judge
from workbench.oracle.runs import Setting
from workbench.programs import parse_program, write_block
from workbench.reduction import BugOracle, Reducer
from workbench.sameness import Bug, bug_of
from workbench.servers import Pool

pytestmark = [pytest.mark.torch, pytest.mark.benchmark]

FOLDER = Path(__file__).parents[1] / "quality" / "programs"
PROGRAMS = os.environ.get("REDUCER_PROGRAMS", "sensor_model fused_counts replay_buffer plugin_registry").split()
"""Few, since each takes picire minutes; of forty statements and more: one operator, a fusion, an alias, and one for the source route."""
MOST_SECONDS = float(os.environ.get("REDUCER_SECONDS", "600"))


@dataclass(slots=True)
class Row:
    """One reduction of one program by one tool."""

    program: str
    tool: str
    calls: int
    compiles: int
    seconds: float
    before: int
    after: int
    ended: str = "complete"

    def text(self) -> str:
        return f"{self.program:20}{self.tool:10}{self.calls:7}{self.compiles:10}{self.seconds:10.0f}{self.before:8}{self.after:7}  {self.ended}"


HEAD = f"{'program':20}{'tool':10}{'calls':>7}{'compiles':>10}{'seconds':>10}{'before':>8}{'after':>7}  ended"


class OutOfTime(Exception):
    pass


def ours(pool: Pool, program: Program) -> Row:
    started = time.monotonic()
    done = Reducer(pool, budget=Budget(seconds=MOST_SECONDS)).run(program)
    p = done.progress
    return Row(
        program.name,
        "workbench",
        p.calls,
        p.compiles,
        time.monotonic() - started,
        p.statements_before,
        statements(done.program.source),
        done.ended,
    )


def _picire() -> Any:
    """picire 21.8 asks ``pkg_resources`` for its version, which setuptools no longer brings."""
    if "pkg_resources" not in sys.modules and importlib.util.find_spec("pkg_resources") is None:
        stand_in = types.ModuleType("pkg_resources")
        stand_in.get_distribution = lambda name: types.SimpleNamespace(version=importlib.metadata.version(name))  # type: ignore[attr-defined]
        sys.modules["pkg_resources"] = stand_in
    return importlib.import_module("picire")


def of_picire(pool: Pool, program: Program, bug: Bug, before: Verdict) -> Row:
    """The oracle is ours: the same judge, the same backend, the same predicate, an eager look first."""
    picire = _picire()
    assert bug.stage is not None
    oracle = BugOracle(Judge(pool), pool, bug, LADDER[bug.stage], Setting())
    plain = write_block(program.source, Configuration())
    lines = [line for line in plain.splitlines() if line.strip()]
    row = Row(program.name, "picire", 1, before.compiles, 0.0, statements(program.source), statements(program.source))
    started = time.monotonic()

    def ask(kept: list[int], _: object) -> Any:
        if time.monotonic() - started > MOST_SECONDS:
            raise OutOfTime
        text = "\n".join(lines[i] for i in kept) + "\n"
        row.calls += 1
        judged = oracle.judge(Candidate(text, program.configuration), lambda: False)
        row.compiles += judged.compiles
        if judged.kind is not Kind.SAME:
            return picire.Outcome.PASS
        row.after = min(row.after, statements(text))
        return picire.Outcome.FAIL

    search = picire.DD(ask)
    try:
        search(list(range(len(lines))))
    except OutOfTime:
        row.ended = "ten minutes"
    row.seconds = time.monotonic() - started + before.seconds
    return row


def test_fewer_calls_and_a_smaller_program_than_line_ddmin(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = []
    with Pool(jobs=1) as pool:
        for name in PROGRAMS:
            program = parse_program((FOLDER / f"{name}.py").read_text(), name)
            before = Judge(pool).check(program, demand=Demand())
            bug = bug_of(before)
            assert bug is not None
            steps: list[Callable[[], Row]] = [partial(ours, pool, program), partial(of_picire, pool, program, bug, before)]
            for step in steps:
                rows.append(step())
                with capsys.disabled():
                    sys.stdout.write("\n".join(["", HEAD, *(r.text() for r in rows), ""]))
                    sys.stdout.flush()
    if target := os.environ.get("REDUCER_TABLE"):
        Path(target).write_text("\n".join([HEAD, *(r.text() for r in rows)]) + "\n")
    for mine, theirs in zip(rows[::2], rows[1::2], strict=True):
        assert mine.after <= theirs.after
        assert mine.calls < theirs.calls
