"""What may be spent on an endpoint: calls, tokens, money, minutes. Asked before every call; answers replayed from the store cost nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from workbench.llm.errors import LLMError

CALLS = 1000
"""Calls where nobody says otherwise: nobody is surprised by a bill."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits; None: none."""

    calls: int | None = CALLS
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None


@dataclass(slots=True)
class Purse:
    """Counts against a budget, from several threads. A call that is under way when the last of it is spent is still paid."""

    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = time.monotonic
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    _started: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Before a call; LLMError of kind ``budget`` when something is spent."""
        with self._lock:
            now = self.clock()
            self._started = now if self._started is None else self._started
            limits = (
                ("calls", self.calls, self.budget.calls, "--llm-calls"),
                ("tokens", self.tokens, self.budget.tokens, "--llm-tokens"),
                ("cost", round(self.cost, 4), self.budget.cost, "--llm-cost"),
                ("minutes", round((now - self._started) / 60, 1), self.budget.minutes, "--llm-minutes"),
            )
            for what, spent, most, option in limits:
                if most is not None and spent >= most:
                    raise LLMError("budget", f"the LLM budget is spent: {spent:g} of {most:g} {what}", f"allow more with {option}")
            self.calls += 1

    def pay(self, tokens: int, cost: float | None) -> None:
        """After a call."""
        with self._lock:
            self.tokens += tokens
            self.cost += cost or 0.0
