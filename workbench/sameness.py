"""When are two verdicts the same bug? Same outcome, same stage, same class of change in the same symptom, eager behaving alike, and on no
shakier ground. Pure functions over verdicts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reducers.oracle import Kind
from store.records import WEAK_SYMPTOMS, Difference, Outcome, Stage, Symptom, Verdict, Warning

FINDINGS = frozenset({Outcome.MISMATCH, Outcome.ERROR})
GROUND = frozenset(
    {
        Warning.OVERFLOW,
        Warning.OUT_OF_RANGE_CAST,
        Warning.DUPLICATE_INDICES,
        Warning.OVERLAPPING_MEMORY,
        Warning.BEYOND_STORAGE,
        Warning.EXTREME_VALUES,
        Warning.EAGER_SUSPECT,
    }
)
"""Warnings that a candidate must not bring in anew: maintainers would turn the smaller program down where the original stood."""

TELLING = (
    Symptom.MISSING_ERROR,
    Symptom.NAN,
    Symptom.VALUE,
    Symptom.DTYPE,
    Symptom.SHAPE,
    Symptom.DEVICE,
    Symptom.GRADIENT,
    Symptom.MUTATION,
    Symptom.STRUCTURE,
    Symptom.PYVALUE,
    Symptom.ALIAS,
    Symptom.RNG,
    Symptom.MODES,
    Symptom.REQUIRES_GRAD,
)
"""Of several symptoms the reduction follows the first of these: what a reader of the repro understands soonest."""

MESSAGE_OVERLAP = 0.6
"""Share of words that two error messages must have in common to be the same crash; shapes and names change as a program shrinks."""


@dataclass(frozen=True, slots=True)
class Change:
    """A symptom class: what shows, and how values change. ``raised`` for crashes and missing errors: the words of the message."""

    symptom: Symptom
    change: str
    raised: frozenset[str] = frozenset()

    def covers(self, other: Change) -> bool:
        """Whether ``other`` shows the same change: equal, or a larger finite one (a smaller one may slide into rounding)."""
        if self.symptom is not other.symptom or _overlap(self.raised, other.raised) < MESSAGE_OVERLAP:
            return False
        return self.change == other.change or (self.change == "finite:small" and other.change == "finite:large")

    def text(self) -> str:
        return f"{self.symptom.value} {self.change}"


@dataclass(frozen=True, slots=True)
class Bug:
    """What has to stay the same while a finding shrinks."""

    outcome: Outcome
    stage: Stage | None
    change: Change
    warnings: frozenset[Warning]

    def text(self) -> str:
        """One line for people, and part of the journal's key."""
        return f"{self.outcome.value} {self.stage.value if self.stage else '-'} {self.change.text()}"


def bug_of(verdict: Verdict) -> Bug | None:
    """The bug that a verdict shows; None when it is no finding."""
    changes = changes_of(verdict)
    if verdict.outcome not in FINDINGS or not changes:
        return None
    rank = {symptom: i for i, symptom in enumerate(TELLING)}
    chosen = min(changes, key=lambda c: rank.get(c[0].symptom, len(rank)))[0]
    return Bug(verdict.outcome, verdict.stage, chosen, frozenset(verdict.warnings))


def changes_of(verdict: Verdict) -> list[tuple[Change, str]]:
    """Every unexplained change of a verdict with its path, in the verdict's order."""
    raised = verdict.outcome is Outcome.ERROR
    return [(_change(d), d.path) for d in verdict.differences if d.excused is None and (raised or d.symptom not in WEAK_SYMPTOMS)]


def judged(bug: Bug, verdict: Verdict) -> tuple[Kind, tuple[str, ...]]:
    """How a candidate's verdict stands to the bug, and the paths that show it."""
    match verdict.outcome:
        case Outcome.AGREE | Outcome.NOISE:
            return Kind.AGREE, ()
        case Outcome.INVALID:
            return Kind.INVALID, ()
        case Outcome.UNDECIDED:
            return (Kind.TIMEOUT if "took longer than" in verdict.reason else Kind.UNDECIDED), ()
    paths = tuple(path for change, path in changes_of(verdict) if bug.change.covers(change))
    if not paths or verdict.outcome is not bug.outcome or (bug.stage is not None and verdict.stage is not bug.stage):
        return Kind.DIFFERENT, ()
    if (frozenset(verdict.warnings) - bug.warnings) & GROUND:
        return Kind.DRIFTED, ()
    return Kind.SAME, paths


def fingerprint(verdict: Verdict) -> str:
    """Stage and symptom classes in one line; empty for what is no finding."""
    if verdict.outcome not in FINDINGS:
        return ""
    classes = sorted({change.text() for change, _ in changes_of(verdict)})
    return " | ".join([verdict.stage.value if verdict.stage else "-", *classes])


def _change(difference: Difference) -> Change:
    told = difference.detail if difference.symptom in (Symptom.MISSING_ERROR, Symptom.EXCEPTION) else ""
    return Change(difference.symptom, difference.change, _words(told))


def _words(text: str) -> frozenset[str]:
    """Words of a message that do not depend on shapes, values and names."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", " ", text)
    return frozenset(re.findall(r"[A-Za-z]{3,}", bare))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return 1.0 if not one and not other else len(one & other) / max(1, len(one | other))
