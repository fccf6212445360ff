"""Which mutator meets which seed next. A bandit whose rewards arrive only at fixed borders between batches, so that the tests of a campaign
depend on its seed and on results, never on how many jobs ran or which was quicker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import TRIES, Pick
from workbench.fuzz.mutators import Mutator
from workbench.seeds import Seed

BATCH = 32
"""Tests in a batch. Batch n is planned from the results of batches up to n-2, so that no job waits while the last of a batch runs."""
FLOOR = 0.3
"""Share of picks that ignore rewards and go to the least tried mutators: nothing is given up for good."""
NEW_BUCKET, NEW_BEHAVIOUR, VALID = 1.0, 0.15, 0.01
"""Rewards; a mismatch of a known bucket earns nothing."""
SECOND, THIRD = 0.2, 0.05
"""Chance that a second, a third mutator follows."""


@dataclass(slots=True)
class Arm:
    """What one choice has earned. ``planned`` counts picks, so that a batch does not spend itself on one arm."""

    planned: int = 0
    tried: int = 0
    reward: float = 0.0

    @property
    def worth(self) -> float:
        """Mean reward, optimistic while little is known."""
        return (self.reward + 0.6) / (self.tried + 2.0)


@dataclass(slots=True)
class Scheduler:
    """Plans tests. ``plan`` gives the picks of a batch of ``size``; ``learn`` takes the rewards of one, in the order of test numbers."""

    campaign_seed: int
    mutators: Sequence[Mutator]
    seeds: Sequence[Seed]
    strategy: str = "rules"
    size: int = BATCH
    _arms: dict[str, Arm] = field(default_factory=dict)
    _seed_arms: dict[str, Arm] = field(default_factory=dict)

    def plan(self, batch: int) -> list[Pick]:
        """The picks of a batch."""
        return [self._pick(batch * self.size + i) for i in range(self.size)]

    def learn(self, results: Sequence[tuple[Sequence[str], str, float]]) -> None:
        """Rewards of a finished batch: (mutators, seed, reward) by test number."""
        for names, seed, reward in results:
            for name in names:
                arm = self._arms.setdefault(name, Arm())
                arm.tried += 1
                arm.reward += reward / len(names)
            seed_arm = self._seed_arms.setdefault(seed, Arm())
            seed_arm.tried += 1
            seed_arm.reward += reward

    def _pick(self, number: int) -> Pick:
        draw = Draw(self.campaign_seed, "test", number)
        if self.strategy == "unmutated" or not self.mutators:
            return Pick(number, draw, None, [self.seeds[number % len(self.seeds)]])
        mutator = self._mutator(draw)
        extra = [self._any(draw) for chance in (SECOND, THIRD) if draw.chance(chance)]
        seeds = [self._seed(draw) for _ in range(TRIES)]
        return Pick(number, draw, mutator, seeds, extra)

    def _mutator(self, draw: Draw) -> Mutator:
        if self.strategy == "random" or draw.chance(FLOOR):
            least = min(self._arm(m.name).planned for m in self.mutators)
            options = [m for m in self.mutators if self._arm(m.name).planned == least]
            chosen = draw.choice(options)
        else:
            weights = [self._arm(m.name).worth / (1 + 0.15 * (self._arm(m.name).planned - self._arm(m.name).tried)) for m in self.mutators]
            chosen = draw.weighted(self.mutators, weights)
        self._arm(chosen.name).planned += 1
        return chosen

    def _any(self, draw: Draw) -> Mutator:
        options = [m for m in self.mutators if not m.raises] or list(self.mutators)
        return draw.choice(options)

    def _seed(self, draw: Draw) -> Seed:
        weights = [self._seed_arms.get(s.name, Arm()).worth for s in self.seeds]
        return draw.weighted(self.seeds, weights)

    def _arm(self, name: str) -> Arm:
        return self._arms.setdefault(name, Arm())


def reward(outcome: str, *, valid: bool, new_bucket: bool, known: bool, new_behaviour: bool) -> float:
    """What a test is worth to the scheduler (DESIGN §6)."""
    if new_bucket:
        return NEW_BUCKET
    if known or not valid or outcome not in ("agree", "noise"):
        return 0.0
    return VALID + (NEW_BEHAVIOUR if new_behaviour else 0.0)


def chosen(mutators: Mapping[str, Mutator], codes: Mapping[str, str], focus: Sequence[str], only: Sequence[str]) -> list[Mutator]:
    """The mutators that a campaign may use. ``codes``: characteristic id → trigger code."""
    found = [m for m in mutators.values() if not only or m.name in only]
    if focus:
        found = [m for m in found if any(codes.get(c) in focus for c in m.characteristics)]
    return found
