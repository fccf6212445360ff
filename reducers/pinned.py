"""Random inputs of which only some elements matter: their values are written out and narrowed to the elements that show the bug.

Smaller random tensors are other numbers, so a bug that hangs on one value in a thousand survives no change of a size.
"""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
"""Parts asked about in one pack, each alone and each left out: one element in a thousand takes four packs."""
MOST_PACKS = 10
FEW = 8
"""Drawn integers up to which all are written out at any rate: they are short, and a reader sees at once which value it takes."""
MANY = 16
"""Elements from which a literal is no easier to read than a random tensor, so that nothing is changed."""
FEWEST = 3
"""Elements of other random inputs from which narrowing is worth a capture."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """An input that is drawn at random, with the values that it had.

    place: in the list of inputs
    call:  ``torch.tensor`` of all of them
    """

    place: int
    leaves: list[ast.expr]
    rank: int
    call: ast.Call

    def of(self, kept: Sequence[int]) -> ast.Call:
        """All elements as they are, or some in one row, of the same rank and dtype."""
        if len(kept) == len(self.leaves):
            return copied(self.call)
        data: ast.expr = ast.List(all_copied([self.leaves[i] for i in kept]), ast.Load())
        for _ in range(self.rank - 1):
            data = ast.List([data], ast.Load())
        return ast.Call(copied(self.call.func), [data], all_copied(self.call.keywords))


def pinned(search: Search) -> bool:
    """Put few elements in the place of random inputs of one size, where they show the bug; True when the program changed.

    Inputs of equally many elements are narrowed together, since they usually meet element by element; later ones first, for what is drawn
    before them stays the same. Only for programs that can be packed.
    """
    if not search.oracle.flattens or not search.packing or not packable(search.best.source) or not _are_drawn(search.best.source):
        return False
    groups: dict[int, list[Drawn]] = defaultdict(list)
    for one in _drawn(search.best.source, texts_of(search, "flatten")):
        groups[len(one.leaves)].append(one)
    narrowed = [_narrowed(search, group) for group in sorted(groups.values(), key=lambda g: g[-1].place, reverse=True)]
    return any(narrowed)


def _narrowed(search: Search, inputs: list[Drawn]) -> bool:
    """ddmin over the elements, a pack for each of its rounds."""
    count = len(inputs[0].leaves)
    kept, parts = list(range(count)), min(PARTS, count)
    for _ in range(MOST_PACKS):
        if len(kept) < 2:
            break
        step = -(-len(kept) // parts)
        chunks = [kept[at : at + step] for at in range(0, len(kept), step)]
        others = [[i for i in kept if i not in set(chunk)] for chunk in chunks] if len(chunks) > 2 else []
        made = [(chosen, c) for chosen in (*chunks, *others) if (c := _candidate(search, inputs, chosen)) is not None]
        found = showing(search, [candidate for _, candidate in made])
        shown = next((chosen for chosen, candidate in made if candidate.key in found), None)
        if shown is not None:
            parts = PARTS if len(shown) <= step else max(2, len(chunks) - 1)
            kept = shown
        elif step == 1:
            break
        else:
            parts = min(2 * parts, len(kept))
    short = len(kept) <= MANY and 2 * len(kept) <= count
    if not short and not (count <= FEW and all(_is_integral(one) for one in inputs)):
        return False
    candidate = _candidate(search, inputs, kept)
    return candidate is not None and search.offer("elements of inputs", candidate.source)


def _candidate(search: Search, inputs: list[Drawn], kept: Sequence[int]) -> Candidate | None:
    tree = parse(search.best.source)
    made = _inputs(tree)
    if made is None:
        return None
    for one in inputs:
        made.elts[one.place] = one.of(kept)
    return search.candidate(show(tree), search.best.configuration)


def _inputs(tree: ast.Module) -> ast.Tuple | ast.List | None:
    maker = function(tree, "get_inputs")
    return returned_list(maker) if maker is not None else None


def _are_drawn(source: str) -> bool:
    """Whether an input is drawn that may be worth writing out."""
    made = _inputs(parse(source))
    return made is not None and any(_is_worth_it(call) for e in made.elts for call in _draws(e))


def _draws(expression: ast.expr) -> list[ast.Call]:
    return [n for n in walk(expression) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in DRAWN]


def _is_worth_it(call: ast.Call) -> bool:
    """Integers always; others from ``FEWEST`` elements on, as far as the sizes can be read."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("randint", "randperm"):
        return True
    sizes = [n.value for a in call.args for n in walk(a) if isinstance(n, ast.Constant)]
    whole = [n for n in sizes if isinstance(n, int)]
    return len(whole) < len(sizes) or math.prod(whole) >= FEWEST


def _drawn(source: str, texts: Iterable[str]) -> Iterator[Drawn]:
    """The random inputs of ``source`` whose values the captured ``texts`` tell."""
    tree = parse(source)
    fn, made = function(tree, "fn"), _inputs(tree)
    if fn is None or made is None:
        return
    values = _values(texts)
    for place, (parameter, expression) in enumerate(zip(fn.args.args, made.elts, strict=False)):
        value = values.get(parameter.arg.lower())
        if value is None or not _draws(expression):
            continue
        shape, leaves = shape_of(value.args[0])
        drawn = Drawn(place, leaves, len(shape), value)
        if len(leaves) >= (1 if _is_integral(drawn) else FEWEST):
            yield drawn


def _is_integral(drawn: Drawn) -> bool:
    plain = (leaf.operand if isinstance(leaf, ast.UnaryOp) else leaf for leaf in drawn.leaves)
    return all(isinstance(leaf, ast.Constant) and type(leaf.value) is int for leaf in plain)


def _values(texts: Iterable[str]) -> Mapping[str, ast.Call]:
    """Inputs of captured graphs that are written out, by parameter in lower case; Dynamo calls the argument ``X`` ``l_x_``. The first graph
    that tells one counts: a later one may have it written into.
    """
    found: dict[str, ast.Call] = {}
    for text in texts:
        tree = parse(text)
        fn, made = function(tree, "fn"), _inputs(tree)
        if fn is None or made is None:
            continue
        for parameter, expression in zip(fn.args.args, made.elts, strict=False):
            name = match[1] if (match := re.fullmatch(r"l_(\w+)_", parameter.arg)) else parameter.arg
            match expression:
                case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr="requires_grad_")):
                    call = inner  # the harness asks for gradients itself
                case ast.Call() as call:
                    pass
                case _:
                    continue
            if isinstance(call.func, ast.Attribute) and call.func.attr == "tensor" and call.args:
                found.setdefault(name.lower(), call)
    return found
