"""How the verdicts of a script's calls become the file's, over results written by hand: no runner, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from store.records import Configuration, Outcome, Program, Stage, Symptom, Verdict
from workbench.oracle.judge import Judge
from workbench.oracle.runs import Setting
from workbench.programs import parse_program, said_keys
from workbench.runner.protocol import Request
from workbench.servers import Run

Call = Mapping[str, Any]


def call(value: float, name: str = "f", **more: Any) -> Call:
    """A call that returned one number."""
    return {"value": value, "name": name, **more}


def raising(kind: str) -> Call:
    return {"exception": {"class": kind, "message": "no"}, "name": "f"}


class Written:
    """A pool that answers from given calls: eager's, compiled's, and both without the script's asserts.

    compiled: for every backend, or by backend, ``own`` for the one that the script itself names
    """

    def __init__(self, eager: Sequence[Call], compiled: Any, ended: str = "", lenient: tuple[Any, Any] | None = None) -> None:
        self.sides = {True: (eager, compiled), False: lenient or (eager, compiled)}
        self.ended = ended
        self.requests: list[Request] = []

    def run(self, request: Request) -> Run:
        self.requests.append(request)
        strict = request.options.get("asserts", True)
        eager, compiled = self.sides[strict]
        if isinstance(compiled, dict):
            own = "own" in compiled and "backend" not in request.options.get("override", ())
            compiled = compiled.get("own" if own else request.backend, eager)
        document, blobs = self.document(eager if request.backend is None else compiled)
        if self.ended and strict:
            document["facts"]["ended"] = {"class": self.ended, "message": "", "line": 9}
        return Run("ok", document, memoryview(blobs))

    def document(self, calls: Sequence[Call]) -> tuple[dict[str, Any], bytes]:
        blobs = b""
        told = []
        for given in calls:
            facts = {"call": {"name": given["name"], "line": 3, "backend": given.get("backend", "inductor")}}
            entry: dict[str, Any] = {"outcome": "returned", "where": "call", "facts": facts, "leaves": []}
            if "exception" in given:
                entry.update(outcome="raised", exception=given["exception"])
            else:
                raw = np.float64(given["value"]).tobytes()
                leaf = {"path": "return", "dtype": "float64", "shape": [], "stride": [], "exact": True}
                entry["leaves"] = [{**leaf, "blob": [len(blobs), 8], "shadow": [len(blobs), 8]}]
                blobs += raw
            told.append(entry)
        return {"outcome": "returned", "facts": {"form": "script", "exact": True}, "leaves": [], "calls": told}, blobs


def judge(pool: Written, **configuration: Any) -> Verdict:
    return Judge(pool).check(Program("f()", Configuration(**configuration), "file.py"))


def test_the_first_difference_decides_and_later_ones_are_a_cascade() -> None:
    verdict = judge(Written([call(1), call(2), call(3), call(4)], [call(1), call(7), call(3), call(9)]))
    assert verdict.outcome is Outcome.MISMATCH
    assert [c.outcome for c in verdict.calls] == [Outcome.AGREE, Outcome.MISMATCH, Outcome.AGREE, Outcome.MISMATCH]
    assert [c.reason.startswith("cascade: an earlier call differed") for c in verdict.calls] == [False, False, False, True]
    assert [d.path for d in verdict.differences] == ["calls[1].return"]
    assert verdict.reason.startswith("call 1 of 4 (f, line 3)")
    assert "1 later calls cascade" in verdict.reason


def test_the_stage_is_that_of_the_first_difference() -> None:
    wrong = {"aot_eager": [call(1), call(7)], "aot_eager_decomp_partition": [call(1), call(7)], "inductor": [call(1), call(7)]}
    verdict = judge(Written([call(1), call(2)], wrong))
    assert (verdict.stage, verdict.calls[1].stage, verdict.calls[0].stage) == (Stage.AOT, Stage.AOT, None)


def test_a_call_of_the_scripts_own_backend_is_named_after_it() -> None:
    eager = [call(2, backend="aot_eager")]
    verdict = judge(Written(eager, {"aot_eager": [call(7)], "inductor": [call(7, backend="aot_eager")]}))
    assert verdict.calls[0].configuration.backend == "aot_eager"
    assert (verdict.stage, list(verdict.ladder)) == (Stage.AOT, ["eager", "aot_eager"])


def test_a_backend_outside_the_ladder_that_fails_alone_has_no_stage() -> None:
    eager, wrong = [call(2, backend="mine")], [call(7, backend="mine")]
    assert judge(Written(eager, {"own": wrong})).stage is None
    assert judge(Written(eager, {"own": wrong, "inductor": wrong})).stage is Stage.INDUCTOR


def test_calls_that_the_compiled_script_never_makes_leave_it_undecided() -> None:
    verdict = judge(Written([call(1), call(2)], [call(1)], ended="SystemExit"))
    assert [c.outcome for c in verdict.calls] == [Outcome.AGREE, Outcome.UNDECIDED]
    assert verdict.outcome is Outcome.UNDECIDED
    assert "makes 1 calls and ends with SystemExit at line 9" in verdict.reason


def test_calls_that_are_never_made_after_a_difference_do_not_matter() -> None:
    verdict = judge(Written([call(1), call(2)], [call(5)], ended="AssertionError"))
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.calls[1].reason.startswith("cascade")


def test_an_assert_that_ends_an_agreeing_script_is_taken_out_of_the_way() -> None:
    pool = Written([call(1), call(2)], [call(1)], ended="AssertionError", lenient=([call(1), call(2)], [call(1), call(8)]))
    verdict = judge(pool)
    assert (verdict.outcome, verdict.reason[:13]) == (Outcome.MISMATCH, "call 1 of 2 (")


def test_asserts_that_never_fail_cost_no_further_run() -> None:
    pool = Written([call(1)], [call(1)])
    assert judge(pool).outcome is Outcome.AGREE
    assert all("asserts" not in r.options for r in pool.requests)


def test_an_exception_that_both_sides_raise_is_invalid_only_when_it_is_all_there_is() -> None:
    assert judge(Written([raising("ValueError")], [raising("ValueError")])).outcome is Outcome.INVALID
    verdict = judge(Written([raising("ValueError"), call(1)], [raising("ValueError"), call(1)]))
    assert (verdict.outcome, verdict.reason) == (Outcome.AGREE, "1 compiled call agrees; 1 raise alike on both sides")


def test_an_exception_that_only_eager_raises_is_a_missing_error_at_that_call() -> None:
    verdict = judge(Written([call(1), raising("ValueError")], [call(1), call(1)]))
    assert (verdict.outcome, verdict.symptoms) == (Outcome.MISMATCH, (Symptom.MISSING_ERROR,))
    assert verdict.differences[0].path == "calls[1].exception"


def test_a_script_that_calls_another_function_when_compiled_is_undecided() -> None:
    verdict = judge(Written([call(1, "f")], [call(1, "g")]))
    assert verdict.outcome is Outcome.UNDECIDED
    assert "another way" in verdict.reason


def test_only_what_somebody_asked_for_overrides_the_script() -> None:
    def override(source: str, said: frozenset[str] = frozenset()) -> list[str]:
        pool = Written([call(1)], [call(1)])
        program = parse_program(source, "file.py")
        Judge(pool).check(program, setting=Setting(said=said))
        return next(r.options["override"] for r in pool.requests if r.backend is not None)

    assert override("f()") == []
    assert override('# /// workbench\n# backend = "inductor"\n# ///\nf()') == ["backend"]
    assert override("f()", frozenset({"dynamic"})) == ["dynamic"]


def test_keys_of_a_block_are_read_also_at_their_default() -> None:
    assert said_keys("# /// workbench\n# seed = 0\n# [dynamo]\n# cache_size_limit = 1\n# ///\n") == {"seed", "dynamo"}
    assert said_keys("x = 1") == frozenset()
