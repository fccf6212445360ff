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

OF_SHARED_MEMORY = (Symptom.VALUE, Symptom.NAN, Symptom.MUTATION)
"""What memory that is wrongly shared brings about."""

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
    """What has to stay the same while a finding shrinks.

    also: the same change of values where the program shows it at both ends of one write, in what is returned and in the input that was
          written into; and the memory wrongly shared, where a later write makes it a wrong value. Only what the original shows itself, so
          that a reader of the repro finds a symptom of the report
    guilty: the guilty pass where the verdict knows it; a candidate that was asked for it has to blame the same
    """

    outcome: Outcome
    stage: Stage | None
    change: Change
    warnings: frozenset[Warning]
    also: tuple[Change, ...] = ()
    guilty: str = ""

    def shown_by(self, change: Change) -> bool:
        """Whether a candidate's change is this bug's."""
        return any(own.covers(change) for own in (self.change, *self.also))

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
    both = {c.symptom for c, _ in changes if c.change == chosen.change}
    ends = (Symptom.VALUE, Symptom.NAN, Symptom.MUTATION)
    other = next((s for s in ends if chosen.symptom in ends and s in both and s is not chosen.symptom), None)
    shared = next((c for c, _ in changes if c.symptom is Symptom.ALIAS and chosen.symptom in OF_SHARED_MEMORY), None)
    also = (*([Change(other, chosen.change)] if other is not None else []), *([shared] if shared is not None else []))
    return Bug(verdict.outcome, verdict.stage, chosen, frozenset(verdict.warnings), also, verdict.guilty or "")


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
    paths = tuple(path for change, path in changes_of(verdict) if bug.shown_by(change))
    if not paths or verdict.outcome is not bug.outcome or (bug.stage is not None and verdict.stage is not bug.stage):
        return Kind.DIFFERENT, ()
    if bug.guilty and verdict.guilty_asked and not same_pass(bug.guilty, verdict.guilty):
        return Kind.DIFFERENT, ()
    if (frozenset(verdict.warnings) - bug.warnings) & GROUND:
        return Kind.DRIFTED, ()
    return Kind.SAME, paths


def same_pass(one: str, other: str | None) -> bool:
    """Whether two guilty passes are one: the same subsystem. Which of its applications is blamed may be another op of a smaller program."""
    return other is not None and one.partition(" ")[0] == other.partition(" ")[0]


def fingerprint(verdict: Verdict) -> str:
    """Stage and symptom classes in one line; empty for what is no finding."""
    if verdict.outcome not in FINDINGS:
        return ""
    classes = sorted({change.text() for change, _ in changes_of(verdict)})
    return " | ".join([verdict.stage.value if verdict.stage else "-", *classes])


def _change(difference: Difference) -> Change:
    told = difference.detail if difference.symptom in (Symptom.MISSING_ERROR, Symptom.EXCEPTION) else ""
    return Change(difference.symptom, difference.change, _words(told))


def raises_alike(bug: Bug, raised: str) -> bool:
    """Whether an exception of eager (``ValueError: ...``) is the one that compiled misses."""
    return _overlap(bug.change.raised, _words(f"eager raises {raised}, compiled runs")) >= MESSAGE_OVERLAP


def _words(text: str) -> frozenset[str]:
    """Words of a message that do not depend on shapes, values and names."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", " ", text)
    return frozenset(re.findall(r"[A-Za-z]{3,}", bare))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return 1.0 if not one and not other else len(one & other) / max(1, len(one | other))
