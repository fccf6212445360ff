"""The sizes that inputs are made with, and which of them go together: the length of ``arange(24).reshape(6, 4)`` is the product of its shape."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reducers.makers import MAKERS
from reducers.nodes import children, walk
from reducers.tree import Edit, function, numbers


def makers(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that make inputs."""
    return [f for name in MAKERS if (f := function(tree, name)) is not None]


class Shapes:
    """The sizes of one program's inputs.

    free:  sizes that may change on their own
    bound: ids of lengths that follow from a shape
    """

    def __init__(self, tree: ast.Module) -> None:
        self._number = numbers(tree)
        self._lengths = [length for maker in makers(tree) for node in walk(maker) if (length := _length(node)) is not None]
        self.bound = {id(length.node) for length in self._lengths}
        self.free = [n for maker in makers(tree) for n in _integers(maker) if id(n) not in self.bound]

    def edit(self, nodes: Sequence[ast.Constant], value: int) -> Edit:
        """These sizes made ``value``, and with them the lengths that follow."""
        changed = {id(n): value for n in nodes}
        edits = [(n, value) for n in nodes]
        edits += [(length.node, length.start + length.of(changed)) for length in self._lengths if length.changes(changed)]
        return Edit(tuple((self._number[id(n)], ast.Constant(float(v) if isinstance(n.value, float) else v)) for n, v in edits))


@dataclass(frozen=True, slots=True)
class _Length:
    """An end of ``arange`` (or a count of ``linspace``) that has to be ``start`` plus the product of ``sizes``."""

    node: ast.Constant
    start: int
    sizes: tuple[ast.Constant, ...]

    def of(self, changed: Mapping[int, int]) -> int:
        return math.prod(changed.get(id(n), _whole(n) or 0) for n in self.sizes)

    def changes(self, changed: Mapping[int, int]) -> bool:
        return any(id(n) in changed for n in self.sizes)


def _length(node: ast.AST) -> _Length | None:
    match node:
        case ast.Call(func=ast.Attribute(value=made, attr="reshape" | "view"), args=arguments, keywords=[]):
            pass
        case _:
            return None
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        arguments = arguments[0].elts
    sizes = tuple(a for a in arguments if isinstance(a, ast.Constant) and is_size(a))
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and isinstance(made.func.value, ast.Call):
        made = made.func.value  # arange(6).float(): how it is cast does not matter
    if len(sizes) != len(arguments) or not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return None
    match made.func.attr, made.args:
        case "arange", [ast.Constant() as end]:
            start = 0
        case "arange", [ast.Constant() as first, ast.Constant() as end] if (start_ := _whole(first)) is not None:
            start = start_
        case "linspace", [_, _, ast.Constant() as end]:
            start = 0
        case _:
            return None
    length = _Length(end, start, sizes)
    return length if _whole(end) == start + length.of({}) else None


def _whole(node: ast.Constant) -> int | None:
    number = node.value
    return int(number) if isinstance(number, int | float) and not isinstance(number, bool) and number == int(number) else None


def _integers(maker: ast.FunctionDef) -> Iterator[ast.Constant]:
    """Sizes in a maker: integers, and the whole float of ``arange(7.)``; not the data of ``torch.tensor([...])``."""
    waiting: list[ast.AST] = [maker]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("tensor", "as_tensor", "manual_seed"):
            continue
        whole = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "arange" and len(node.args) == 1
        if whole and isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, float):
            if node.args[0].value == int(node.args[0].value):
                yield node.args[0]
            continue
        if isinstance(node, ast.Constant) and is_size(node):
            yield node
        waiting += children(node)


def is_size(node: ast.AST) -> bool:
    """A whole number above zero."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0
