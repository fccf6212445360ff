"""What the reducers ask of the outside: an Oracle that judges candidates and flattens them, and a Journal that remembers. Protocols and
plain records only; ``workbench.reduction`` implements them over real torch and the store, tests over synthetic predicates.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from store.records import JSON, Configuration, canonical


class Kind(StrEnum):
    """What became of a candidate, seen from the bug that is being reduced.

    same:      the same bug: stage, symptom class, guilty pass where known, and eager behaves as in the original
    different: a mismatch too, but not this one: kept as a new finding, never accepted
    agree:     no unexplained difference
    invalid:   it does not run in eager, or eager behaves otherwise
    drifted:   differs, but on ground that the original did not stand on (an overflow, duplicate indices, a suspect eager)
    timeout:   a verdict of its own, never taken for a failure
    undecided: a dead worker, a lost result
    """

    SAME = "same"
    DIFFERENT = "different"
    AGREE = "agree"
    INVALID = "invalid"
    DRIFTED = "drifted"
    TIMEOUT = "timeout"
    UNDECIDED = "undecided"


UNSTABLE = frozenset({Kind.TIMEOUT, Kind.UNDECIDED})
"""Kinds that say more about the machine than about the candidate; a journal forgets them."""


AGREES = "agrees to the last bit"
"""What a first look says of a candidate in which nothing differs."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One program text without its workbench block, and the configuration to judge it under."""

    source: str
    configuration: Configuration = field(default_factory=Configuration)

    @property
    def key(self) -> str:
        """sha256 over text and configuration, hex: equal candidates have equal judgements."""
        text = canonical([self.source, self.configuration.to_json()])
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the oracle said of one candidate.

    fingerprint: stage, symptom classes and guilty pass in one line; empty where nothing differs
    differing:   paths that differ in the way of the reference, e.g. ``return[1]``
    compiles:    how many compiles it took; 0: it died in eager or before
    """

    kind: Kind
    fingerprint: str = ""
    differing: tuple[str, ...] = ()
    compiles: int = 0
    seconds: float = 0.0
    reason: str = ""

    @property
    def compiled(self) -> bool:
        return self.compiles > 0

    def to_json(self) -> dict[str, JSON]:
        return {
            "kind": self.kind.value,
            "fingerprint": self.fingerprint,
            "differing": list(self.differing),
            "compiles": self.compiles,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Judgement:
        return cls(
            Kind(data["kind"]),
            data.get("fingerprint", ""),
            tuple(data.get("differing", ())),
            data.get("compiles", 0),
            data.get("seconds", 0.0),
            data.get("reason", ""),
        )


class Oracle(Protocol):
    """Judges candidates against one reference finding. Thread-safe: several workers ask at once."""

    def judge(self, candidate: Candidate, cancelled: Callable[[], bool], *, survey: bool = False) -> Judgement:
        """The verdict, cheapest test first; may stop early (kind ``undecided``) once ``cancelled()`` is true.

        survey: only where it differs in the bug's way, neither stage nor guilty pass: for programs that are asked about and never accepted
        """

    flattens: bool
    """Whether the bug can be below Dynamo at all; where not, nothing is captured."""

    def screen(self, candidates: Sequence[Candidate]) -> Sequence[str]:
        """Why each of these cannot be the same bug, told by a first look in one question; ``AGREES``, or what eager does; empty where it may be."""

    def flatten(self, candidate: Candidate) -> Sequence[str]:
        """The program as straight-line code below Dynamo: texts to try, best first; empty where it cannot be captured."""

    def slices(self, candidate: Candidate) -> Sequence[str]:
        """The last 1, 2, 4, ... operations of a straight-line program over recorded values of what comes before, smallest first."""


class Journal(Protocol):
    """Remembers judgements and accepted steps, so that a killed reduction resumes to the same result without asking again."""

    def recall(self, key: str) -> Judgement | None:
        """The judgement of an equal candidate, or None."""

    def record(self, key: str, judgement: Judgement) -> None:
        """Keep a judgement; never called for those in ``UNSTABLE``."""

    def recall_texts(self, key: str) -> Sequence[str] | None:
        """What ``flatten`` returned for an equal candidate, or None."""

    def record_texts(self, key: str, texts: Sequence[str]) -> None:
        """Keep what ``flatten`` returned."""

    def accepted(self, candidate: Candidate, progress: Mapping[str, JSON]) -> None:
        """A step was accepted: from now on this is the best valid program. Durable when it returns."""


class MemoryJournal:
    """A Journal of one process: for files, tests and a store that is read-only."""

    def __init__(self) -> None:
        self.judgements: dict[str, Judgement] = {}
        self.texts: dict[str, Sequence[str]] = {}
        self.steps: list[tuple[Candidate, Mapping[str, JSON]]] = []

    def recall(self, key: str) -> Judgement | None:
        return self.judgements.get(key)

    def record(self, key: str, judgement: Judgement) -> None:
        self.judgements[key] = judgement

    def recall_texts(self, key: str) -> Sequence[str] | None:
        return self.texts.get(key)

    def record_texts(self, key: str, texts: Sequence[str]) -> None:
        self.texts[key] = tuple(texts)

    def accepted(self, candidate: Candidate, progress: Mapping[str, JSON]) -> None:
        self.steps.append((candidate, progress))
