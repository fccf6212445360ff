"""Programs compile with one thread; findings, and a share of the others, are looked at again with two (DESIGN §4 Threads)."""

from __future__ import annotations

import pytest

from store.records import Configuration, Outcome, Program, Verdict, Warning
from workbench.oracle import judge as judging
from workbench.oracle.judge import Demand, Judge, as_found
from workbench.servers import Pool

pytestmark = pytest.mark.torch

PROGRAM = """
import torch
THREADS = torch.get_num_threads()
def fn(x):
    if torch.compiler.is_compiling() and {when}:
        x = x + 1
    return x * 2
def get_inputs():
    return [torch.ones(3)]
"""
WRONG_WITH_ONE = Program(PROGRAM.format(when="THREADS == 1"))
WRONG_WITH_TWO = Program(PROGRAM.format(when="THREADS == 2"))
ALWAYS_WRONG = Program(PROGRAM.format(when="THREADS"))


def verdict(pool: Pool, program: Program, monkeypatch: pytest.MonkeyPatch, *, share: int, demand: Demand | None = None) -> Verdict:
    monkeypatch.setattr(judging, "SHARE", share)
    return Judge(pool).check(program, demand=demand)


def test_a_finding_that_two_threads_do_not_show_says_so(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(pool, WRONG_WITH_ONE, monkeypatch, share=1)
    assert found.outcome is Outcome.MISMATCH
    assert Warning.THREADS_MATTER in found.warnings
    assert as_found(WRONG_WITH_ONE, found) == WRONG_WITH_ONE


def test_a_finding_that_two_threads_show_too_does_not(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(pool, ALWAYS_WRONG, monkeypatch, share=1)
    assert found.outcome is Outcome.MISMATCH
    assert Warning.THREADS_MATTER not in found.warnings


def test_a_program_of_the_share_that_only_two_threads_get_wrong_is_a_finding_with_two(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(pool, WRONG_WITH_TWO, monkeypatch, share=1)
    assert found.outcome is Outcome.MISMATCH
    assert Warning.THREADS_MATTER in found.warnings
    again = as_found(WRONG_WITH_TWO, found)
    assert again.configuration == Configuration(threads=2)
    assert Judge(pool).check(again, demand=Demand(stage=False, confirm=False)).outcome is Outcome.MISMATCH


def test_a_program_outside_the_share_runs_with_one_thread_only(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(pool, WRONG_WITH_TWO, monkeypatch, share=1 << 40).outcome is Outcome.AGREE


def test_the_reducer_which_asks_for_little_pays_for_no_second_number_of_threads(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(pool, WRONG_WITH_ONE, monkeypatch, share=1, demand=Demand(stage=True, confirm=False))
    assert Warning.THREADS_MATTER not in found.warnings
    assert found.compiles == 1


def test_about_one_program_in_so_many_is_of_the_share() -> None:
    chosen = sum(judging.of_share(Program(f"import torch\n# {number}\n")) for number in range(1600))
    assert 60 <= chosen <= 140
