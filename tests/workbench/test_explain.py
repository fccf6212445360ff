"""Which nudged runs are made: large leaves only where nothing smaller decides, and no more than can still help where they are costly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from observed import observation

from store.records import Configuration
from workbench.oracle import compare, explain
from workbench.oracle.explain import Explainer
from workbench.oracle.observation import Observation
from workbench.oracle.runs import Runs, Setting
from workbench.programs import parse_program
from workbench.runner.protocol import Request
from workbench.servers import Run

SMOOTH_PLAN = [["aten.mm.default", "inexact"], ["aten.gelu_backward.default", "inexact"]]
DECIDING_PLAN = [["aten.mm.default", "inexact"], ["aten.floor.default", "exact"]]


class Given:
    """Runs of which each is given: leaves in eager and compiled, and bounds of nudged runs by batch."""

    def __init__(self, eager: dict[str, Any], compiled: dict[str, Any], bounds: list[dict[str, Any]], plan: list[list[str]]) -> None:
        self.configuration = Configuration()
        self._eager, self._compiled = observation(eager), observation(compiled)
        shadow = {p: (v, {"shadow": v, "exact": False}) for p, v in eager.items()}
        self._shadow = observation(shadow, facts={"plan": plan, "exact": False})
        self._bounds = bounds
        self.asked: list[tuple[int, bool]] = []

    def eager(self) -> Observation:
        return self._eager

    control = lambda self, poison=0: self._eager  # noqa: E731

    def compiled(self, backend: str | None = None, *_: Any, **__: Any) -> Observation:
        return self._eager if backend == "eager" else self._compiled

    def shadow(self) -> Observation:
        return self._shadow

    def nudged(self, batch: int, *, large: bool = False) -> list[Observation]:
        self.asked.append((batch, large))
        leaves = {}
        for path, (low, high) in self._bounds[batch].items():
            if large or np.asarray(low).size <= 4:
                leaves[path] = (np.asarray(low, np.float32), {"low": low, "high": high, "nan": np.zeros_like(low)})
        return [observation(leaves)]


def explained(runs: Given) -> explain.Explained:
    return Explainer(runs).explain(runs.compiled())  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _small_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "LARGE", 4)
    monkeypatch.setattr(explain, "COSTLY", 10)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


WIDE, LOW, HIGH = f32(*range(1, 13)), f32(*range(1, 13)) - 0.5, f32(*range(1, 13)) + 0.5


def test_a_small_leaf_that_decides_spares_the_large_ones() -> None:
    runs = Given(
        {"a": f32(1), "big": WIDE},
        {"a": f32(9.5), "big": WIDE + 0.25},
        [{"a": (f32(0.5), f32(1.5)), "big": (LOW, HIGH)}] * 3,
        DECIDING_PLAN,
    )
    found = explained(runs).comparison
    assert [d.path for d in found.open] == ["a"]
    assert [d.path for d in found.aside] == ["big"]
    assert runs.asked == [(0, False), (1, False), (2, False)]


def test_large_leaves_are_looked_at_when_nothing_else_is_left() -> None:
    runs = Given(
        {"a": f32(1), "big": WIDE},
        {"a": f32(1.25), "big": WIDE + 0.25},
        [{"a": (f32(0.5), f32(1.5)), "big": (LOW, HIGH)}] * 3,
        DECIDING_PLAN,
    )
    result = explained(runs)
    assert result.comparison.equal
    assert runs.asked == [(0, False), (0, True)]
    wrong = Given({"a": f32(1), "big": WIDE}, {"a": f32(1), "big": WIDE * 3 + 0.5}, [{"big": (LOW, HIGH)}] * 3, DECIDING_PLAN)
    assert [d.path for d in explained(wrong).comparison.open] == ["big"]
    assert wrong.asked == [(0, True), (1, True), (2, True)]


def test_costly_runs_end_where_more_of_them_cannot_help() -> None:
    """200 times the spread of a few runs beyond it: not where something decides on rounded numbers, not a value just outside, not a small program."""

    def asked(plan: list[list[str]], value: float) -> list[tuple[int, bool]]:
        runs = Given({"a": f32(1), "same": WIDE}, {"a": f32(value), "same": WIDE}, [{"a": (f32(0.99), f32(1.01))}] * 3, plan)
        assert not explained(runs).comparison.equal
        return runs.asked

    assert asked(SMOOTH_PLAN, 5.2) == [(0, False)]
    assert asked(DECIDING_PLAN, 5.2) == [(0, False), (1, False), (2, False)]
    assert asked(SMOOTH_PLAN, 1.2) == [(0, False), (1, False), (2, False)]
    runs = Given({"a": f32(1)}, {"a": f32(9.5)}, [{"a": (f32(0.99), f32(1.01))}] * 3, SMOOTH_PLAN)
    explained(runs)
    assert runs.asked == [(0, False), (1, False), (2, False)]


def test_runs_whose_steps_go_together_are_for_whole_numbers_alone() -> None:
    """Counts of 9 and 40 where 24 seeds tell 4 to 6 and those together 0 to 10; a float that is no count never profits."""
    near, far = {"a": (f32(4), f32(6))}, {"a": (f32(0), f32(10))}
    for value, equal, asked in ((9, True, 4), (40, False, 4), (9.5, False, 3)):
        runs = Given({"a": f32(5)}, {"a": f32(value)}, [near] * 3 + [far], DECIDING_PLAN)
        assert explained(runs).comparison.equal is equal
        assert len(runs.asked) == asked


def test_what_is_set_aside_is_never_all_there_is() -> None:
    eager, other = observation({"big": WIDE}), observation({"big": WIDE + 1})
    found = compare.compare(eager, other)
    found.set_aside(4)
    assert not found.equal


class Slow:
    """A pool whose nudged runs each finish three seeds of those asked for."""

    def __init__(self) -> None:
        self.seeds: list[list[int]] = []

    def run(self, request: Request) -> Run:
        facts: dict[str, Any] = {"exact": False, "plan": []}
        if request.action == "nudge":
            self.seeds.append(list(request.seeds))
            facts["nudge"] = {"seeds": min(3, len(request.seeds))}
        return Run("ok", {"outcome": "returned", "facts": facts, "leaves": []}, memoryview(b""))


def test_seeds_that_a_run_had_no_time_for_are_asked_for_again() -> None:
    pool = Slow()
    program = parse_program("import torch\ndef fn(x):\n    return x\ndef get_inputs():\n    return [torch.ones(1)]\n", "program.py")
    assert len(Runs(pool, program, Setting()).nudged(1)) == 2
    assert pool.seeds == [[2, 3, 4, 5], [5]]
