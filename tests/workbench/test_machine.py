"""An interpreter that can compile nothing is no fault of a program: no runner, no torch."""

from __future__ import annotations

from typing import Any

import pytest

from store.records import Configuration, Outcome, Program
from workbench.oracle.judge import Judge
from workbench.oracle.runs import TRIVIAL
from workbench.runner.protocol import Request
from workbench.servers import Run


class Broken:
    """Eager returns; compiling raises, the trivial program too unless it ``works``."""

    def __init__(self, kind: str, *, works: bool) -> None:
        self._kind, self._works = kind, works

    def run(self, request: Request) -> Run:
        document: dict[str, Any] = {"outcome": "returned", "facts": {"exact": True}, "leaves": []}
        if request.backend == "inductor" and not (self._works and request.source == TRIVIAL):
            document.update(
                outcome="raised", where="call", exception={"class": self._kind, "message": "No module named 'setuptools'\nmore"}
            )
        return Run("ok", document, memoryview(b""))


@pytest.mark.parametrize("kind", ["ModuleNotFoundError", "torch._inductor.exc.CppCompileError", "InvalidCxxCompiler"])
def test_what_no_program_can_compile_is_undecided_and_says_why(kind: str) -> None:
    verdict = Judge(Broken(kind, works=False)).check(Program("f()", Configuration(), "file.py"))
    assert verdict.outcome is Outcome.UNDECIDED
    assert "No module named 'setuptools'" in verdict.reason
    assert "\n" not in verdict.reason


def test_what_only_this_program_cannot_compile_is_an_error() -> None:
    assert Judge(Broken("ModuleNotFoundError", works=True)).check(Program("f()", Configuration(), "file.py")).outcome is Outcome.ERROR
    assert Judge(Broken("IndexError", works=False)).check(Program("f()", Configuration(), "file.py")).outcome is Outcome.ERROR
