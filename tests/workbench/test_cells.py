"""The configuration grid: every cell judged once, on the program as it is now."""

from __future__ import annotations

from store.records import Configuration
from store.rows import Event, Run
from workbench.cells import CELLS, Cell, filled


def run(number: int, configuration: Configuration, outcome: str = "mismatch", at: str = "2026-12-01T10", purpose: str = "grid") -> Run:
    return Run(number, 1, purpose, outcome, configuration.non_default(), "2.13.0", 1.0, at)


def test_modes_are_asked_of_inductor_alone_and_dynamic_of_all():
    assert len(CELLS) == len(set(CELLS)) == 21
    assert {c.mode for c in CELLS if c.backend != "inductor"} == {"default"}
    assert {c.dynamic for c in CELLS if c.mode == "max-autotune"} == {None, True, False}


def test_a_cell_keeps_the_rest_of_the_configuration():
    plain = Configuration(grad=True, inductor={"cpp.simdlen": 0}, dynamic=True)
    assert Cell("aot_eager", "default", None).applied(plain) == Configuration(grad=True, inductor={"cpp.simdlen": 0}, backend="aot_eager")


def test_the_newest_verdict_of_a_cell_counts_and_only_of_grid_runs():
    cell = Cell("aot_eager", "default", True)
    plain = Configuration(grad=True)
    runs = [run(3, plain, purpose="recheck"), run(2, cell.applied(plain), "agree"), run(1, cell.applied(plain), "mismatch")]
    assert [(f.cell, f.outcome) for f in filled(plain, runs, [])] == [(cell, "agree")]


def test_verdicts_on_the_unreduced_program_or_another_configuration_do_not_count():
    plain = Configuration()
    reduced = Event(1, 1, "2026-12-01T11", "work", 1, "reduced", {}, {})
    early, late = run(1, plain, at="2026-12-01T10"), run(2, plain, at="2026-12-01T12")
    assert [f.at for f in filled(plain, [late, early], [reduced])] == ["2026-12-01T12"]
    assert list(filled(plain, [run(3, Configuration(grad=True), at="2026-12-01T13")], [reduced])) == []
