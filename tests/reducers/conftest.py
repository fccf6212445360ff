"""A fake oracle over plain predicates: what reducers promise is checked without torch."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Sequence

import pytest

from reducers.oracle import Candidate, Judgement, Kind
from store.syntax import parse


class FakeOracle:
    """Judges by a predicate over the candidate; counts, and can be told to break off after some calls."""

    def __init__(self, predicate: Callable[[Candidate], Kind | bool], flat: Sequence[str] = (), windows: Sequence[str] = ()) -> None:
        self.predicate = predicate
        self.flat = flat
        self.windows = windows
        self.asked: list[Candidate] = []
        self.die_after: int | None = None
        self.lock = threading.Lock()

    def judge(self, candidate: Candidate, cancelled: Callable[[], bool]) -> Judgement:
        with self.lock:
            if self.die_after is not None and len(self.asked) >= self.die_after:
                raise KilledError
            self.asked.append(candidate)
        found = self.predicate(candidate)
        kind = found if isinstance(found, Kind) else Kind.SAME if found else Kind.AGREE
        return Judgement(kind, "fake", ("return",) if kind is Kind.SAME else (), compiles=1)

    def flatten(self, candidate: Candidate) -> Sequence[str]:
        return self.flat

    def slices(self, candidate: Candidate) -> Sequence[str]:
        return self.windows


class KilledError(Exception):
    """Stands for kill -9."""


def calls_in(source: str) -> set[str]:
    """Names of methods and functions that a text calls."""
    called = set()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Call):
            called.add(node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", ""))
    return called


@pytest.fixture
def fake() -> type[FakeOracle]:
    return FakeOracle


@pytest.fixture
def calls() -> Callable[[str], set[str]]:
    return calls_in


@pytest.fixture
def killed() -> type[KilledError]:
    return KilledError
