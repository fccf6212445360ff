"""What a person reads of a verdict: no torch, no runner."""

from __future__ import annotations

from dataclasses import replace

from store.records import Difference, Element, Outcome, Stage, Symptom, Verdict, Warning
from workbench.oracle.wording import lines

ELEMENT = Element((0, 2), "1", "2", "1.0")
FOUND = Verdict(
    Outcome.MISMATCH,
    "return differs in 1 elements",
    (Symptom.VALUE,),
    (Warning.EAGER_SUSPECT,),
    stage=Stage.AOT,
    ladder={"eager": "agree", "aot_eager": "mismatch", "inductor": "mismatch"},
    differences=(Difference("return", Symptom.VALUE, "float32", (2, 3), 1, (ELEMENT,), 1.0, 1.0, 8.0),),
    ruled_out=("rounding (4 would pass)", "a chance result (compiled twice)"),
    file="dir/model.py",
)


def test_a_mismatch_in_a_few_lines_with_its_next_command() -> None:
    assert list(lines(FOUND)) == [
        "✗ mismatch (value)  dir/model.py",
        "  return differs in 1 elements",
        "  return  value: float32[2, 3]; 1 of 6 elements; abs 1, rel 1, 8 ulp",
        "    [0, 2]     eager 1   compiled 2   float64 1.0",
        "  stage: aot (functionalization and autograd); eager ✓ agree, aot_eager ✗ mismatch, inductor ✗ mismatch",
        "  ruled out: rounding (4 would pass)",
        "             a chance result (compiled twice)",
        "  warning: Eager is far from the float64 shadow where compiled is near: eager may be the wrong side.",
        "  next: workbench minimize dir/model.py",
    ]
    assert list(lines(FOUND, saved=7))[-1] == "  next: workbench minimize 7"


def test_what_was_not_tried_is_not_told() -> None:
    assert not any("ruled out" in line for line in lines(Verdict(Outcome.MISMATCH, "x", file="a.py")))


def test_a_message_of_several_lines_takes_one() -> None:
    loud = Verdict(
        Outcome.ERROR, "raises", differences=(Difference("exception", Symptom.EXCEPTION, detail="index out of range\n  Hint: no\n"),)
    )
    told = list(lines(loud))
    assert "  exception  exception: index out of range" in told
    assert not any("\n" in line for line in told)


def test_a_verdict_keeps_what_was_ruled_out() -> None:
    assert Verdict.from_json(FOUND.to_json()).ruled_out == FOUND.ruled_out


def test_nothing_that_a_program_made_acts_on_the_terminal_or_begins_a_line_of_ours() -> None:
    evil = "a\x1b[2J\x9b31m\x07b\r\u202e\n✓ agree  other.py"
    element = Element((0,), evil, evil, evil)
    difference = Difference(evil, Symptom.PYVALUE, evil, (2,), 1, (element,), detail=evil)
    call = Verdict(Outcome.AGREE, evil, file=f"{evil}:3 fn")
    verdict = replace(FOUND, reason=evil, differences=(difference,), ruled_out=(evil,), file=evil, guilty=evil, graph=evil, calls=(call, call))
    told = "\n".join(lines(verdict))
    assert {ch for ch in told if not ch.isprintable()} == {"\n"}
    assert "␛[2J" in told
    assert not [line for line in told.split("\n") if line.startswith("✓")]
