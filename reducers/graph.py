"""The graph route: the program as straight-line code below Dynamo, then the shortest slice of it that still shows the bug.

Slices are cut with recomputed inputs first: values computed inside keep constant and index propagation alive, which recorded inputs kill.
Failing is not monotone in the length of a slice, so nothing is bisected.
"""

from __future__ import annotations

import ast
import re

from reducers.deadcode import tidy
from reducers.oracle import Candidate, Judgement, Kind
from reducers.search import Search
from reducers.tree import function, show
from store.syntax import parse

MOST_VALUES = 400
"""Values that one question returns at once."""


def flattened(search: Search) -> bool:
    """Try what the oracle's ``flatten`` gives for the best program, then slices of it; True when a flat text was accepted."""
    texts = _texts(search, "flatten")
    drive = function(parse(search.best.source), "drive")
    driven = [f"{text}\n{ast.unparse(drive)}\n" for text in texts] if drive is not None else []
    if not search.offer("flatten", *driven, *texts):
        return False
    sliced(search)
    return True


def sliced(search: Search) -> None:
    """Cut the flat program at the first value that differs, then cut its beginning off."""
    search.progress.current = "slice"
    places = asked_for_all(search)
    if places:
        search.offer("slice", *places)
    judgement = search.judge(search.best)
    if judgement.kind is Kind.SAME:
        search.offer("window", *_texts(search, "slices"))


def _texts(search: Search, what: str) -> list[str]:
    key = f"{what}:{search.best.key}"
    texts = search.journal.recall_texts(key)
    if texts is None:
        search.progress.current = what
        search.charge()
        texts = tuple(getattr(search.oracle, what)(search.best))
        search.journal.record_texts(key, texts)
    return list(texts)


def asked_for_all(search: Search) -> list[str]:
    """One question: a program that returns every value of ``fn`` in order. Slices that end in the first ones that differ, as texts."""
    tree = parse(search.best.source)
    names = values(tree)
    if not 1 < len(names) <= MOST_VALUES or function(tree, "drive") is not None:
        return []
    asked = _returning(tree, names)
    judgement = search.judge(Candidate(show(asked), search.best.configuration))
    return [show(tidy(_returning(tree, [name]))) for name in first_differing(judgement, names)]


def first_differing(judgement: Judgement, names: list[str], count: int = 2) -> list[str]:
    """Names of the earliest returned values that differ in the bug's way."""
    if judgement.kind is not Kind.SAME:
        return []
    places = sorted({int(m[1]) for path in judgement.differing if (m := re.match(r"return\[(\d+)\]", path))})
    return [names[p] for p in places[:count] if p < len(names)]


def values(tree: ast.Module) -> list[str]:
    """Names that the straight-line ``fn`` binds, each once, in order; empty when it is not straight-line."""
    fn = function(tree, "fn")
    if fn is None or not fn.body or not isinstance(fn.body[-1], ast.Return):
        return []
    names: list[str] = []
    for statement in _lines(fn.body[:-1]):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            names.append(statement.targets[0].id)
        elif not isinstance(statement, ast.Expr | ast.AugAssign | ast.Assign | ast.With):
            return []
    return list(dict.fromkeys(names))


def _lines(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, those of ``with`` blocks in place."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if isinstance(statement, ast.With):
            found += _lines(statement.body)
    return found


def _returning(tree: ast.Module, names: list[str]) -> ast.Module:
    """The program whose ``fn`` returns these values."""
    work = parse(show(tree))
    fn = function(work, "fn")
    assert fn is not None
    loads: list[ast.expr] = [ast.Name(n, ast.Load()) for n in names]
    fn.body[-1] = ast.Return(loads[0] if len(loads) == 1 else ast.Tuple(loads, ast.Load()))
    return work
