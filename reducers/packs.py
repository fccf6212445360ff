"""Several candidates in one program: each under names of its own, all returned side by side, so that one compile tells which of them show
the bug. Whoever shows it is judged alone before it is accepted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from reducers.deadcode import returned_list
from reducers.inline import Renamer
from reducers.nodes import walk
from reducers.tree import bound_by, function, show
from store.syntax import parse

OUTPUTS = re.compile(r"((?:gradients\.)?)return\[(\d+)\]")
OWNED = ("return", "inputs", "gradients.")
"""Beginnings of the paths that belong to one member; globals, modes and exceptions belong to the whole program."""
INPUTS = re.compile(r"((?:gradients\.)?)inputs\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Pack:
    """A program of several members.

    counts: how many inputs each member has
    """

    source: str
    counts: tuple[int, ...]

    def showing(self, paths: Iterable[str]) -> dict[int, list[str]]:
        """Members that these differing paths belong to, in order, with the paths as the member alone would have them."""
        ends = list(accumulate(self.counts))
        found: dict[int, list[str]] = {}
        for path in paths:
            if match := OUTPUTS.match(path):
                found.setdefault(int(match[2]), []).append(f"{match[1]}return{path[match.end() :]}")
            elif match := INPUTS.match(path):
                place = int(match[2])
                member = next((i for i, end in enumerate(ends) if place < end), None)
                if member is not None:
                    own = place - ends[member] + self.counts[member]
                    found.setdefault(member, []).append(f"{match[1]}inputs[{own}]{path[match.end() :]}")
        return dict(sorted(found.items()))


def packable(source: str) -> bool:
    """Whether a program can be a member: ``fn`` over plain parameters and a display of inputs, no ``drive`` and no ``Model``."""
    return _member(parse(source)) is not None


def packed(sources: Sequence[str]) -> Pack | None:
    """One program of all these; None where one of them cannot be a member."""
    imports: dict[str, ast.stmt] = {}
    body: list[ast.stmt] = []
    counts = []
    for i, source in enumerate(sources):
        tree = parse(source)
        count = _member(tree)
        if count is None:
            return None
        counts.append(count)
        own = {n for s in tree.body if not isinstance(s, ast.Import | ast.ImportFrom) for n in bound_by(s)}
        renamed = Renamer({name: f"{name}_{i}" for name in own}).visit(tree)
        for statement in renamed.body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                imports.setdefault(ast.dump(statement), statement)
            else:
                body.append(statement)
    return Pack(show(ast.Module([*imports.values(), *body, *_harness(counts)], [])), tuple(counts))


def _harness(counts: Sequence[int]) -> list[ast.stmt]:
    names = [[f"i{m}_{k}" for k in range(count)] for m, count in enumerate(counts)]
    parameters = ", ".join(n for own in names for n in own)
    results = ", ".join(f"fn_{m}({', '.join(own)})" for m, own in enumerate(names))
    inputs = ", ".join(f"*get_inputs_{m}()" for m in range(len(counts)))
    return parse(f"def fn({parameters}):\n    return ({results},)\n\ndef get_inputs():\n    return [{inputs}]\n").body


def _member(tree: ast.Module) -> int | None:
    """How many inputs a program takes; None where it cannot be a member."""
    fn, maker = function(tree, "fn"), function(tree, "get_inputs")
    if fn is None or maker is None or fn.decorator_list:
        return None
    if any(bound_by(s) & {"drive", "Model", "get_init_inputs"} for s in tree.body):
        return None
    if any(isinstance(n, ast.Global) for n in walk(tree)):
        return None
    a = fn.args
    made = returned_list(maker)
    if a.vararg or a.kwarg or a.defaults or a.kwonlyargs or a.posonlyargs or made is None or len(made.elts) != len(a.args):
        return None
    return len(a.args)


def operations(source: str) -> int:
    """How many calls, operators and subscripts there are outside the makers of inputs."""
    tree = parse(source)
    makers = [f for name in ("get_inputs", "get_init_inputs") if (f := function(tree, name)) is not None]
    inside = {id(n) for maker in makers for n in walk(maker)}
    kinds = ast.Call | ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript | ast.AugAssign
    return sum(isinstance(n, kinds) and id(n) not in inside for n in walk(tree))
