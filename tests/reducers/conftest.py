"""A fake oracle over plain predicates: what reducers promise is checked without torch."""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Sequence

import pytest

from reducers.inline import Renamer
from reducers.oracle import Candidate, Judgement, Kind
from reducers.tree import bound_by, show
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

    def judge(self, candidate: Candidate, cancelled: Callable[[], bool], *, survey: bool = False) -> Judgement:
        with self.lock:
            if self.die_after is not None and len(self.asked) >= self.die_after:
                raise KilledError
            self.asked.append(candidate)
        members = members_of(candidate)
        if members:
            kinds = [self._kind(member) for member in members]
            places = [(i, path) for i, kind in enumerate(kinds) if kind is Kind.SAME for path in self.differing(members[i])]
            showing = tuple(f"return[{i}]{path.removeprefix('return')}" for i, path in places)
            other = Kind.DIFFERENT if Kind.DIFFERENT in kinds else Kind.AGREE
            return Judgement(Kind.SAME if showing else other, "fake", showing, compiles=1)
        kind = self._kind(candidate)
        return Judgement(kind, "fake", self.differing(candidate) if kind is Kind.SAME else (), compiles=1)

    def differing(self, candidate: Candidate) -> tuple[str, ...]:
        """Where a candidate that shows the bug differs."""
        return ("return",)

    def _kind(self, candidate: Candidate) -> Kind:
        found = self.predicate(candidate)
        return found if isinstance(found, Kind) else Kind.SAME if found else Kind.AGREE

    flattens = True

    def screen(self, candidates: Sequence[Candidate]) -> Sequence[str]:
        return ["invalid" if self.predicate(c) is Kind.INVALID else "" for c in candidates]

    def flatten(self, candidate: Candidate) -> Sequence[str]:
        return self.flat

    def slices(self, candidate: Candidate) -> Sequence[str]:
        return self.windows


class KilledError(Exception):
    """Stands for kill -9."""


def members_of(candidate: Candidate) -> list[Candidate]:
    """The programs that a pack was made of; none for another program."""
    tree = parse(candidate.source)
    count = sum(isinstance(s, ast.FunctionDef) and re.fullmatch(r"fn_\d+", s.name) is not None for s in tree.body)
    members = []
    for i in range(count):
        work = parse(candidate.source)
        own = {n: n.removesuffix(f"_{i}") for s in work.body for n in bound_by(s) if n.endswith(f"_{i}")}
        kept = [s for s in work.body if isinstance(s, ast.Import) or bound_by(s) & set(own)]
        members.append(Candidate(show(Renamer(own).visit(ast.Module(kept, []))), candidate.configuration))
    return members


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
