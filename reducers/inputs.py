"""Edits that shrink what ``get_inputs`` makes: sizes, rows and columns of literals, fills; and parameters that can be one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from reducers.deadcode import returned_list
from reducers.expressions import plainer
from reducers.inline import Renamer
from reducers.makers import filled, shape_of
from reducers.nodes import all_copied, copied, walk
from reducers.shapes import Shapes, is_size, makers
from reducers.tree import Edit, Ref, function, numbers

WIDTHS = (8, 16, 32)
"""Vector widths of float32 on the machines of today: a body and a tail differ, so sizes around them are tried."""


def sizes(tree: ast.Module) -> list[Edit]:
    """Integers of the inputs made smaller: equal ones together and with those of the code, then in the inputs alone, then one by one.

    The length of an ``arange(24).reshape(6, 4)`` goes with its shape. The last edits are tried first, so each list ends in its boldest.
    """
    shapes = Shapes(tree)
    own = shapes.free
    inside = {id(n) for n in own} | shapes.bound
    other = [n for n in walk(tree) if is_size(n) and id(n) not in inside]
    groups: dict[int, list[ast.Constant]] = defaultdict(list)
    for node in own:
        assert isinstance(node.value, int | float)
        groups[int(node.value)].append(node)
    edits: list[Edit] = []
    for value, nodes in sorted(groups.items()):
        linked = [n for n in other if isinstance(n, ast.Constant) and n.value == value]
        choices = _smaller(value)
        if len(nodes) > 1:
            edits += [shapes.edit([n], c) for n in nodes for c in choices]
        edits += [shapes.edit(nodes, c) for c in choices]
        if linked:
            edits += [shapes.edit([*nodes, *linked], c) for c in choices]
    return edits


def boldest(tree: ast.Module) -> list[Edit]:
    """All sizes at once to two or three, their order of size kept: one call where the shape does not matter."""
    shapes = Shapes(tree)
    edits = []
    for limit in (3, 2):
        large = [n for n in shapes.free if isinstance(n.value, int | float) and n.value > limit]
        if large:
            edits.append(shapes.edit(large, limit))
    return edits


def _smaller(value: int) -> list[int]:
    """Sizes to try for ``value``, the boldest last: one below, half, around the vector widths, then 2 and 1."""
    tries = {value - 1, value // 2, 2, 1}
    tries |= {w + d for w in WIDTHS for d in (-1, 0, 1)} if value > min(WIDTHS) + 1 else set()
    return sorted((t for t in tries if 0 < t < value), reverse=True)


def columns(tree: ast.Module) -> list[Edit]:
    """One column of every literal matrix ``[[..], [..]]`` in the inputs, and the brackets around a single row."""
    number = numbers(tree)
    edits = []
    for maker in makers(tree):
        for node in walk(maker):
            if isinstance(node, ast.List) and len(node.elts) == 1 and isinstance(node.elts[0], ast.List):
                edits.append(Edit.of(number[id(node)], Ref(number[id(node.elts[0])]), 2))
            if isinstance(node, ast.List) and len(node.elts) > 1 and all(isinstance(r, ast.List) for r in node.elts):
                rows = [r.elts for r in node.elts if isinstance(r, ast.List)]
                if len({len(r) for r in rows}) == 1 and len(rows[0]) > 1:
                    edits += [Edit(tuple((number[id(row[i])], None) for row in rows)) for i in range(len(rows[0]))]
    return edits


def values(tree: ast.Module) -> list[Edit]:
    """Numbers of literals made plain."""
    number = numbers(tree)
    edits = []
    for maker in makers(tree):
        for call in walk(maker):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("tensor", "full"):
                for node in walk(call):
                    if isinstance(node, ast.Constant):
                        edits += [Edit.of(number[id(node)], ast.Constant(v)) for v in plainer(node.value)]
    return edits


RANDOM = frozenset({"randn", "rand", "empty", "randint", "randperm", "tensor", "full"})
"""Makers whose values may not matter. ``zeros``, ``ones`` and ``arange`` are plain already."""


def fills(tree: ast.Module) -> list[Edit]:
    """Inputs made plain: zeros, ones, or 0, 1, 2, ... where they are flat; a literal also as its special value everywhere. All at once last."""
    number = numbers(tree)
    edits: list[Edit] = []
    together: dict[str, list[tuple[int, ast.expr]]] = defaultdict(list)
    for maker in makers(tree):
        for node in walk(maker):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RANDOM and node.args):
                continue
            for name, made in _filled(node):
                edits.append(Edit.of(number[id(node)], made))
                together[name].append((number[id(node)], made))
    return edits + [Edit(tuple(changes)) for changes in together.values() if len(changes) > 1]


def _filled(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The same shape and dtype with plain values."""
    assert isinstance(node.func, ast.Attribute)
    size, sample = _size_and_sample(node)
    if not size:
        return
    shape = ast.Tuple(size, ast.Load())
    if isinstance(sample, ast.Call) and node.func.attr == "tensor":  # float("nan") and the like
        yield "special", _renamed(node, "full", [shape, sample])
        return
    value = sample.value if isinstance(sample, ast.Constant) else 1.0
    count = size[0]
    if len(size) == 1 and isinstance(count, ast.Constant) and type(count.value) is int and not isinstance(value, bool):
        end = float(count.value) if isinstance(value, float) and not node.keywords else count.value
        yield "arange", ast.Call(_torch(node, "arange"), [ast.Constant(end)], all_copied(node.keywords))
    for name in ("zeros", "ones"):
        made = filled(node, name, shape, value)
        if made is not None:
            yield name, made


def _size_and_sample(node: ast.Call) -> tuple[list[ast.expr], ast.expr]:
    """The sizes that a maker gives its tensor, and one of its values: a special one if there is one."""
    assert isinstance(node.func, ast.Attribute)
    name, last = node.func.attr, node.args[-1]
    one = ast.Constant(1.0)
    if name == "tensor":
        shape, leaves = shape_of(node.args[0])
        special = next((leaf for leaf in leaves if isinstance(leaf, ast.Call)), leaves[0] if leaves else one)
        return ([ast.Constant(n) for n in shape] if len(leaves) > 1 else []), special
    if name in ("full", "randint"):
        size = node.args[0] if name == "full" else last
        sample = last if name == "full" else ast.Constant(1)
        return (all_copied(size.elts) if isinstance(size, ast.Tuple | ast.List) else []), sample
    if name == "randperm":
        return all_copied(node.args), ast.Constant(1)
    if len(node.args) == 1 and isinstance(last, ast.Tuple | ast.List):
        return all_copied(last.elts), one
    return ([] if any(isinstance(a, ast.Starred) for a in node.args) else all_copied(node.args)), one


def _torch(node: ast.Call, name: str) -> ast.Attribute:
    assert isinstance(node.func, ast.Attribute)
    return ast.Attribute(copied(node.func.value), name, ast.Load())


def _renamed(node: ast.Call, name: str, args: list[ast.expr]) -> ast.Call:
    return ast.Call(_torch(node, name), all_copied(args), all_copied(node.keywords))


def unread(tree: ast.Module) -> list[Edit]:
    """A parameter of ``fn`` that its body never reads, with its input; for programs whose dead code has to stay."""
    fn, maker = function(tree, "fn"), function(tree, "get_inputs")
    made = returned_list(maker) if maker is not None else None
    if fn is None or made is None or len(made.elts) != len(fn.args.args):
        return []
    number = numbers(tree)
    read = {n.id for s in fn.body for n in walk(s) if isinstance(n, ast.Name)}
    pairs = zip(fn.args.args, made.elts, strict=True)
    return [Edit(((number[id(a)], None), (number[id(e)], None)), 2) for a, e in pairs if a.arg not in read and len(made.elts) > 1]


def merges(tree: ast.Module) -> list[Edit]:
    """A later parameter of ``fn`` read as an earlier one; dead code removal then drops it with its input."""
    fn = function(tree, "fn")
    if fn is None or len(fn.args.args) > 6:
        return []
    number = numbers(tree)
    edits = []
    for j, later in enumerate(fn.args.args):
        for earlier in fn.args.args[:j]:
            body = [Renamer({later.arg: earlier.arg}).visit(copied(s)) for s in fn.body]
            if any(isinstance(n, ast.Name) and n.id == later.arg for s in fn.body for n in walk(s)):
                edits.append(Edit(tuple((number[id(old)], new) for old, new in zip(fn.body, body, strict=True))))
    return edits
