"""The graph route: the program as straight-line code below Dynamo, then the shortest slice of it that still shows the bug.

Slices are cut with recomputed inputs first: values computed inside keep constant and index propagation alive, which recorded inputs kill.
Failing is not monotone in the length of a slice, so nothing is bisected.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from reducers.deadcode import tidy
from reducers.oracle import Candidate, Kind
from reducers.packs import operations
from reducers.rounds import OPERATIONS, showing, size
from reducers.search import Search
from reducers.statements import returned
from reducers.straight import clean
from reducers.tree import function, show, statements
from store.records import Configuration
from store.syntax import parse

MOST_VALUES = 200
"""Values that one question returns at once."""
MOST_TOGETHER = 80
"""Statements of a flat program up to which several forms of it go into one pack."""
MOST_RESULTS = 3
"""Results of a flat program that are asked about one by one, of those that differ; four times as many where none does."""
FEW = 10
"""Operations that the rounds handle without recorded values."""


def flattened(search: Search) -> bool:
    """Try the straight-line texts that the oracle captures of the best program, cut at the first value that differs; True when one was
    accepted. A small one is asked about in one pack: every value of it, the results that differ each alone, the whole.
    """
    if not search.oracle.flattens:
        return False
    texts = texts_of(search, "flatten")
    own = search.best.configuration
    places = list(dict.fromkeys((Configuration(backend=own.backend, device=own.device), own)))
    ask = _together if all(statements(text) <= MOST_TOGETHER for text in texts) else _one_by_one
    found = any(ask(search, texts, configuration) for configuration in places)
    drive = function(parse(search.best.source), "drive")
    if not found and drive is not None:
        found = search.offer("flatten", *(f"{text}\n{ast.unparse(drive)}\n" for text in texts))
    return found


def _together(search: Search, texts: list[str], configuration: Configuration) -> bool:
    """Text by text, one pack that says whether it shows the bug, and where; then the smallest of what does alone. What is flat already is never
    swapped for the same with its values written out: it is cut or it stays.
    """
    flat = any(show(clean(parse(text))) == search.best.source for text in texts)
    for text in texts:
        if _cut_at_once(search, parse(text), configuration, flat=flat):
            return True
        if not search.packing:
            return _one_by_one(search, texts, configuration)
    return not flat and search.offer("flatten", *texts, configuration=configuration)  # what cannot be straightened


def _cut_at_once(search: Search, tree: ast.Module, configuration: Configuration, *, flat: bool) -> bool:
    made: dict[str, Candidate] = {}

    def add(part: ast.Module) -> str:
        candidate = search.candidate(show(part), configuration)
        if candidate is None or (made and sum(operations(c.source) for c in made.values()) + operations(candidate.source) > OPERATIONS):
            return ""
        made.setdefault(candidate.key, candidate)
        return candidate.key

    names = values(tree)
    every = add(tidy(_returning(tree, names))) if len(names) > 1 else ""
    for part in (*_single_results(search, tree), tree):
        add(clean(part))
    found = showing(search, list(made.values()), sound=True, halvings=1)
    cut = [show(make(_returning(tree, [name]))) for name in _first_differing(found.get(every, ()), names) for make in (clean, tidy)]
    left = (made[key].source for key in found if key != every and key in made)
    whole = sorted((source for source in left if not flat or size(source) < size(search.best.source)), key=size)
    return search.offer("flatten", *dict.fromkeys((*sorted(cut, key=size), *whole)), configuration=configuration)


def _single_results(search: Search, tree: ast.Module) -> list[ast.Module]:
    """The program that returns one of its results only: one of those that differ, or any of the first where none does."""
    fn = function(tree, "fn")
    last = fn.body[-1] if fn is not None and fn.body else None
    count = len(last.value.elts) if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) else 0
    differing = [int(m[1]) for path in search.judge(search.best).differing if (m := re.match(r"return\[(\d+)\]", path))]
    places = [p for p in dict.fromkeys(differing) if p < count][:MOST_RESULTS] or list(range(min(count, 4 * MOST_RESULTS)))
    cut = [returned(tree, frozenset({i})) for i in places] if count > 1 else []
    return [c for c in cut if c is not None]


def _one_by_one(search: Search, texts: list[str], configuration: Configuration) -> bool:
    return any(_cut(search, text, configuration) for text in texts) or any(_offered(search, text, configuration) for text in texts)


def _cut(search: Search, text: str, configuration: Configuration) -> bool:
    """Ask for every value of ``fn``, some hundred at once; accept the program that ends in the first ones that differ."""
    tree = parse(text)
    names = values(tree)
    for start in range(0, len(names), MOST_VALUES):
        asked = names[start : start + MOST_VALUES]
        search.progress.current = "slice"
        judgement = search.judge(Candidate(show(tidy(_returning(tree, asked))), configuration), survey=True)
        paths = judgement.differing if judgement.kind is Kind.SAME else ()
        texts = [show(tidy(_returning(tree, [name]))) for name in _first_differing(paths, asked)]
        if any(_offered(search, t, configuration) for t in texts):
            return True
    return False


def _offered(search: Search, text: str, configuration: Configuration) -> bool:
    """Under short names, else as it is; large programs as they are, since a person reads them only when they are small."""
    forms = [text] if statements(text) > MOST_TOGETHER else [show(clean(parse(text))), text]
    return search.offer("flatten", *dict.fromkeys(forms), configuration=configuration)


def window(search: Search) -> None:
    """Cut the beginning off: the last operations over recorded values; a small program needs no such question."""
    if operations(search.best.source) <= FEW:
        return
    search.judge(search.best)
    texts = [show(clean(parse(text))) for text in texts_of(search, "slices")]
    made = [c for text in texts if (c := search.candidate(text, search.best.configuration)) is not None]
    if made and not search.offer("window", made[0].source):
        found = showing(search, made[1:])
        search.offer("window", *(c.source for c in made[1:] if c.key in found))


def texts_of(search: Search, what: str) -> list[str]:
    """What the oracle's ``flatten`` or ``slices`` gives for the best program, asked once for each program."""
    key = f"{what}:{search.best.key}"
    texts = search.journal.recall_texts(key)
    if texts is None:
        search.progress.current = what
        search.charge()
        texts = tuple(getattr(search.oracle, what)(search.best))
        search.journal.record_texts(key, texts)
    return list(texts)


def _first_differing(paths: Iterable[str], names: list[str], count: int = 2) -> list[str]:
    """Names of the earliest returned values among these paths."""
    places = sorted({int(m[1]) for path in paths if (m := re.match(r"return\[(\d+)\]", path))})
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
