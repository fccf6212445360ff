"""Random inputs of which only some elements matter: their values are written out and narrowed to the elements that show the bug.

Smaller random tensors are other numbers, so a bug that hangs on one value in a thousand survives no change of a size.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reducers.deadcode import returned_list
from reducers.graph import texts_of
from reducers.makers import shape_of
from reducers.nodes import all_copied, copied, walk
from reducers.oracle import Candidate
from reducers.packs import packable
from reducers.rounds import showing
from reducers.search import Search
from reducers.tree import function, show
from store.syntax import parse

DRAWN = frozenset({"randn", "rand", "randint", "randperm", "normal"})
PARTS = 8
"""Parts asked about in one pack: a thousand elements take four packs."""
FEW = 8
"""Drawn integers up to which they are written out at any rate: they are short, and a reader sees at once which value it takes."""
FEWEST = 3
"""Other elements from which narrowing is worth a capture."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An input that is drawn at random, with the values that it had.

    place: in the list of inputs
    """

    place: int
    leaves: list[ast.expr]
    rank: int
    call: ast.Call

    def of(self, start: int, end: int) -> ast.Call:
        """These elements alone, of the same rank and dtype."""
        data: ast.expr = ast.List(all_copied(self.leaves[start:end]), ast.Load())
        for _ in range(self.rank - 1):
            data = ast.List([data], ast.Load())
        return ast.Call(copied(self.call.func), [data], all_copied(self.call.keywords))


def pinned(search: Search) -> bool:
    """Put few elements in the place of random inputs of one size, where they show the bug; True when the program changed.

    Inputs of equally many elements are narrowed together, since they usually meet element by element. Only for programs that can be packed.
    """
    if not search.oracle.flattens or not search.packing or not packable(search.best.source) or not _are_drawn(search.best.source):
        return False
    texts = texts_of(search, "flatten")
    groups: dict[int, list[Drawn]] = defaultdict(list)
    for one in _drawn(search.best.source, texts[-1]) if texts else ():
        groups[len(one.leaves)].append(one)
    narrowed = [_narrowed(search, count, groups[count]) for count in sorted(groups, reverse=True)]
    return any(narrowed)


def _narrowed(search: Search, count: int, inputs: list[Drawn]) -> bool:
    start, end = 0, count
    while end - start > 1:
        step = -(-(end - start) // PARTS)
        parts = [(at, min(at + step, end)) for at in range(start, end, step)]
        made = [(part, c) for part in parts if (c := _candidate(search, inputs, *part)) is not None]
        found = showing(search, [candidate for _, candidate in made])
        shown = next((part for part, candidate in made if candidate.key in found), None)
        if shown is None:
            break
        start, end = shown
    if 2 * (end - start) > count and not (count <= FEW and all(_is_integral(one) for one in inputs)):
        return False
    candidate = _candidate(search, inputs, start, end)
    return candidate is not None and search.offer("elements of inputs", candidate.source)


def _candidate(search: Search, inputs: list[Drawn], start: int, end: int) -> Candidate | None:
    tree = parse(search.best.source)
    maker = function(tree, "get_inputs")
    made = returned_list(maker) if maker is not None else None
    if made is None:
        return None
    for one in inputs:
        made.elts[one.place] = one.of(start, end)
    return search.candidate(show(tree), search.best.configuration)


def _are_drawn(source: str) -> bool:
    maker = function(parse(source), "get_inputs")
    made = returned_list(maker) if maker is not None else None
    return made is not None and any(_is_drawn(e) for e in made.elts)


def _is_drawn(expression: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in DRAWN for n in walk(expression))


def _drawn(source: str, exact: str) -> Iterator[Drawn]:
    """The random inputs of ``source`` whose values ``exact``, the same program with all values written out, tells."""
    tree = parse(source)
    fn, maker = function(tree, "fn"), function(tree, "get_inputs")
    made = returned_list(maker) if maker is not None else None
    if fn is None or made is None:
        return
    values = _values(exact)
    for place, (parameter, expression) in enumerate(zip(fn.args.args, made.elts, strict=False)):
        value = values.get(parameter.arg)
        if not _is_drawn(expression) or not isinstance(value, ast.Call) or not value.args:
            continue
        if not isinstance(value.func, ast.Attribute) or value.func.attr != "tensor":
            continue
        shape, leaves = shape_of(value.args[0])
        drawn = Drawn(place, leaves, len(shape), value)
        if len(leaves) >= (1 if _is_integral(drawn) else FEWEST):
            yield drawn


def _is_integral(drawn: Drawn) -> bool:
    plain = (leaf.operand if isinstance(leaf, ast.UnaryOp) else leaf for leaf in drawn.leaves)
    return all(isinstance(leaf, ast.Constant) and type(leaf.value) is int for leaf in plain)


def _values(text: str) -> Mapping[str, ast.expr]:
    """The inputs of a captured program by parameter; Dynamo calls the argument ``x`` ``l_x_``."""
    tree = parse(text)
    fn, maker = function(tree, "fn"), function(tree, "get_inputs")
    made = returned_list(maker) if maker is not None else None
    if fn is None or made is None:
        return {}
    names = [match[1] if (match := re.fullmatch(r"l_(\w+)_", a.arg)) else a.arg for a in fn.args.args]
    return dict(zip(names, made.elts, strict=False))
