"""A verdict in a few lines for people: what differs, since which stage, what was ruled out and how, warnings, the next command."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from store.plain import visible
from store.records import Difference, Outcome, Stage, Verdict
from workbench.export.sentences import replay_effect
from workbench.oracle.warn import SENTENCES

MARKS = {
    Outcome.AGREE: "✓",
    Outcome.NOISE: "≈",
    Outcome.MISMATCH: "✗",
    Outcome.ERROR: "!",
    Outcome.INVALID: "-",
    Outcome.UNDECIDED: "?",
}
SHOWN_DIFFERENCES, SHOWN_ELEMENTS, SHOWN_CALLS = 4, 3, 12


def lines(verdict: Verdict, *, saved: int | None = None) -> Iterator[str]:
    """The verdict, one line at a time, without colour; ``saved`` is the finding's id in the store.

    What a program made (reasons, values, names) is shown sign for sign, and a line break in it begins no line of ours.
    """
    for line in _lines(verdict, saved):
        yield visible(line).replace("\n", "\n      ")


def _lines(verdict: Verdict, saved: int | None) -> Iterator[str]:
    symptoms = f" ({', '.join(verdict.symptoms)})" if verdict.symptoms else ""
    yield f"{MARKS[verdict.outcome]} {verdict.outcome.value}{symptoms}  {verdict.file}"
    if verdict.reason:
        yield f"  {verdict.reason}"
    if len(verdict.calls) > 1:
        yield from _calls(verdict.calls)
    if verdict.outcome in (Outcome.MISMATCH, Outcome.ERROR):
        for difference in verdict.differences[:SHOWN_DIFFERENCES]:
            yield from _difference(difference)
        hidden = len(verdict.differences) - SHOWN_DIFFERENCES
        if hidden > 0:
            yield f"  … and {hidden} more places (--json has all)"
        yield from _stage(verdict)
        yield from _ruled_out(verdict)
    if verdict.noise is not None:
        for kind, numbers in verdict.noise.evidence.items():
            told = [f"{name.replace('_', ' ')} {_number(value)}" for name, value in numbers.items()]
            yield f"  {kind}: {', '.join(told)}"
    for warning in verdict.warnings:
        yield f"  warning: {SENTENCES[warning]}"
    if verdict.isolation:
        yield f"  isolation: this machine lacks {', '.join(verdict.isolation)} (workbench doctor says more)"
    if verdict.outcome is Outcome.MISMATCH:
        command = f"workbench minimize {saved}" if saved is not None else f"workbench minimize {verdict.file}"
        yield f"  next: {command}"
    elif verdict.outcome is Outcome.ERROR:
        yield "  next: the compiler's own message is the report; add --json for the traceback"


def _calls(calls: Sequence[Verdict]) -> Iterator[str]:
    """The calls of a script, those that follow each other with one verdict in one line."""
    groups = itertools.groupby(enumerate(calls), lambda pair: (pair[1].file, pair[1].outcome, pair[1].reason))
    for shown, (alike, group) in enumerate(groups):
        numbers = [number for number, _ in group]
        if shown == SHOWN_CALLS:
            yield f"    … and {len(calls) - numbers[0]} more calls (--json has all)"
            return
        file, outcome, reason = alike
        line, _, name = file.rpartition(":")[2].partition(" ")
        span = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
        yield f"    {MARKS[outcome]} call {span}  {name}, line {line}: {outcome.value}" + (f", {reason}" if reason else "")


def _difference(difference: Difference) -> Iterator[str]:
    kind = f"{difference.dtype}{list(difference.shape)}" if difference.dtype else ""
    counted = f"{difference.mismatched} of {_size(difference.shape)} elements" if difference.mismatched else ""
    far = []
    if difference.max_abs is not None:
        far.append(f"abs {difference.max_abs:.3g}")
    if difference.max_rel is not None:
        far.append(f"rel {difference.max_rel:.3g}")
    if difference.max_ulp is not None:
        far.append(f"{difference.max_ulp:.3g} ulp")
    detail = difference.detail.strip().partition("\n")[0]
    parts = [p for p in (kind, counted, ", ".join(far), detail) if p]
    yield f"  {difference.path}  {difference.symptom.value}: {'; '.join(parts)}"
    for element in difference.elements[:SHOWN_ELEMENTS]:
        place = f"[{', '.join(str(n) for n in element.index)}]"
        truth = f"   float64 {element.float64}" if element.float64 is not None else ""
        yield f"    {place:<10} eager {element.eager}   compiled {element.compiled}{truth}"


def _stage(verdict: Verdict) -> Iterator[str]:
    ladder = ", ".join(f"{backend} {MARKS.get(Outcome(outcome), '')} {outcome}" for backend, outcome in verdict.ladder.items())
    if verdict.stage is not None:
        meaning = {
            Stage.DYNAMO: "tracing alone",
            Stage.AOT: "functionalization and autograd",
            Stage.DECOMPOSITION: "decompositions and the partitioner",
            Stage.INDUCTOR: "graph passes, lowering and code generation",
        }[verdict.stage]
        yield f"  stage: {verdict.stage.value} ({meaning}); {ladder}"
    elif ladder:
        yield f"  stage: none of the ladder's backends fails; {ladder}"
    if verdict.graph:
        yield f"  guilty graph: {verdict.graph}"
    if verdict.guilty:
        yield f"  guilty pass: {verdict.guilty}"
    elif verdict.guilty_asked:
        yield "  guilty pass: no pass (switching none off hides it)"
    if verdict.replay:
        yield f"  replay ({replay_effect(verdict.replay)}): {verdict.replay}"


def _ruled_out(verdict: Verdict) -> Iterator[str]:
    for number, told in enumerate(verdict.ruled_out):
        yield f"  {'' if number else 'ruled out:':<10} {told}"


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
