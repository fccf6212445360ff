"""A source of mutants beside the planned tests, such as an LLM: it makes them in its own time, and gets the share of tests that its yield earns.

What the rules test never depends on a source: their picks are planned from their own results alone, only how many of them are run is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from store.records import JSON, Outcome
from workbench.fuzz.arrival import provisional
from workbench.fuzz.mutants import Mutant
from workbench.fuzz.scheduler import Arm, reward

if TYPE_CHECKING:
    from store.records import Verdict

LEAST, MOST = 0.1, 0.9
"""Bounds of a source's share while it has mutants to offer: nobody is given up for good."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A mutant that is ready to be judged. ``number``: by which its source knows it again."""

    number: int
    mutant: Mutant


class Source(Protocol):
    """Where mutants come from beside the rules. Called from the campaign's thread only."""

    def tell(self, say: Callable[[str], None]) -> None:
        """Who hears, once, why no more will come (by default: stderr)."""

    def start(self, campaign: int) -> None:
        """Begin to make mutants for a campaign."""

    def take(self) -> Offer | None:
        """A mutant that is ready, or None."""

    def wait(self, seconds: float) -> None:
        """Until a mutant is ready or none will come, for so long at most."""

    def told(self, number: int, verdict: Verdict | None, earned: float, finding: int | None) -> None:
        """What became of an offer."""

    def is_over(self) -> bool:
        """No more mutants will come."""

    def stop(self) -> None:
        """End; what is under way is dropped."""

    def described(self) -> Mapping[str, JSON]:
        """What made the mutants, for the settings that a campaign keeps."""

    def line(self) -> str:
        """How it goes, for people."""


@dataclass(slots=True)
class Earnings:
    """What tests are worth, given what was seen before them: signatures and behaviour that count as new once."""

    known: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)

    def of(self, mutant: Mutant | None, verdict: Verdict | None, outcome: str, behaviour: frozenset[str]) -> float:
        """The reward of one test; what it showed is no longer new after that."""
        if mutant is None:
            return 0.0
        text = provisional(mutant, verdict).text() if verdict and verdict.outcome is Outcome.MISMATCH else None
        new = text is not None and text not in self.known
        earned = reward(
            outcome,
            valid=mutant.valid,
            new_bucket=new,
            known=text is not None and not new,
            new_behaviour=bool(behaviour - self.words),
        )
        if text is not None:
            self.known.add(text)
        self.words |= behaviour
        return earned


@dataclass(slots=True)
class Share:
    """Who gets the next test, the rules or the source, by mean reward of a test. In the order in which tests finish."""

    rules: Arm = field(default_factory=Arm)
    source: Arm = field(default_factory=Arm)
    earnings: Earnings = field(default_factory=Earnings)

    @property
    def of_source(self) -> float:
        """The share of tests that the source should have."""
        return min(MOST, max(LEAST, self.source.worth / (self.source.worth + self.rules.worth)))

    def is_due(self) -> bool:
        """Whether the source's turn has come."""
        return self.source.planned < self.of_source * (self.source.planned + self.rules.planned + 1)

    def planned(self, *, source: bool) -> None:
        """A test was handed out."""
        (self.source if source else self.rules).planned += 1

    def learn(self, earn: Callable[[Earnings], float], *, source: bool) -> None:
        """A test has come back."""
        arm = self.source if source else self.rules
        arm.tried += 1
        arm.reward += earn(self.earnings)
