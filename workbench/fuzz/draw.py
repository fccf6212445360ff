"""The one source of chance in fuzzing: a number in, the same choices out, whatever the machine, the Python hash seed or the job count."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices from a number. ``Draw(7).choice(...)`` gives the same for ever; ``child`` derives an independent one by name."""

    def __init__(self, *numbers: int | str) -> None:
        digest = hashlib.sha256("/".join(map(str, numbers)).encode()).digest()
        self._seed = int.from_bytes(digest[:8], "big")
        self._random = random.Random(self._seed)

    def child(self, name: str | int) -> Draw:
        """Another stream; drawing from it leaves this one where it is."""
        return Draw(self._seed, name)

    def choice(self, options: Sequence[T]) -> T:
        return options[self._random.randrange(len(options))]

    def sample(self, options: Sequence[T], most: int) -> list[T]:
        """Up to ``most`` different options, in random order."""
        return self._random.sample(list(options), min(most, len(options)))

    def weighted(self, options: Sequence[T], weights: Sequence[float]) -> T:
        return self._random.choices(options, weights)[0]

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def whole(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return self._random.randint(low, high)

    def unit(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()
