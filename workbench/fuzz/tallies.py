"""What a campaign counts. Agreeing tests live here as numbers and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from store.records import JSON, Outcome


@dataclass(slots=True)
class Count:
    """Numbers of one campaign, one characteristic or one mutator.

    tests:   mutants made, valid or not
    valid:   of these, those that eager runs (or refuses on purpose)
    seconds: wall time in workers
    first:   seconds from the campaign's start to the first mismatch
    """

    tests: int = 0
    valid: int = 0
    mismatches: int = 0
    noise: int = 0
    errors: int = 0
    undecided: int = 0
    buckets: int = 0
    seconds: float = 0.0
    first: float | None = None

    def add(self, outcome: str, *, valid: bool, seconds: float, new_bucket: bool, at: float) -> None:
        """One finished test."""
        self.tests += 1
        self.valid += valid
        self.mismatches += outcome == Outcome.MISMATCH
        self.noise += outcome == Outcome.NOISE
        self.errors += outcome == Outcome.ERROR
        self.undecided += outcome == Outcome.UNDECIDED
        self.buckets += new_bucket
        self.seconds += seconds
        if outcome == Outcome.MISMATCH and self.first is None:
            self.first = round(at, 1)

    def to_json(self) -> dict[str, JSON]:
        return {**asdict(self), "seconds": round(self.seconds, 2)}


@dataclass(slots=True)
class Tallies:
    """All counts of a campaign. ``inapplicable``: picks whose mutator found nothing to work on; no tests."""

    total: Count = field(default_factory=Count)
    by_characteristic: dict[str, Count] = field(default_factory=dict)
    by_mutator: dict[str, Count] = field(default_factory=dict)
    inapplicable: int = 0
    elapsed: float = 0.0

    def add(
        self,
        outcome: str,
        *,
        characteristics: Iterable[str],
        mutators: Iterable[str],
        valid: bool,
        seconds: float,
        new_bucket: bool,
        at: float,
    ) -> None:
        """One finished test, counted in all the places it belongs."""
        counts = [self.total]
        counts += [self.by_characteristic.setdefault(c, Count()) for c in dict.fromkeys(characteristics)]
        counts += [self.by_mutator.setdefault(m, Count()) for m in dict.fromkeys(mutators)]
        for count in counts:
            count.add(outcome, valid=valid, seconds=seconds, new_bucket=new_bucket, at=at)

    @property
    def per_second(self) -> float:
        return self.total.tests / self.elapsed if self.elapsed else 0.0

    def to_json(self, codes: Mapping[str, str]) -> dict[str, JSON]:
        """The counters of ``fuzz --json`` and of a stored campaign."""
        total = self.total
        return {
            "tests": total.tests,
            "valid": total.valid,
            "mismatches": total.mismatches,
            "noise": total.noise,
            "errors": total.errors,
            "undecided": total.undecided,
            "buckets": total.buckets,
            "first": total.first,
            "worker_seconds": round(total.seconds, 2),
            "inapplicable": self.inapplicable,
            "seconds": round(self.elapsed, 2),
            "tests_per_second": round(self.per_second, 3),
            "by_characteristic": {k: {"code": codes.get(k, ""), **c.to_json()} for k, c in sorted(self.by_characteristic.items())},
            "by_mutator": {k: c.to_json() for k, c in sorted(self.by_mutator.items())},
        }
