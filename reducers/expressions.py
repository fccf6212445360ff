"""Edits inside expressions: put an operand in the place of its operation, drop arguments, make constants plain."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from reducers.nodes import walk
from reducers.tree import Edit, Ref, numbers, parents, weight

MAKERS = frozenset("tensor randn rand ones zeros full arange randint empty eye linspace randperm as_tensor Parameter".split())  # noqa: SIM905

SHAPED = frozenset({"randn", "rand", "ones", "zeros", "empty"})
"""Makers whose positional arguments are a shape."""


def bypasses(tree: ast.Module) -> list[Edit]:
    """Every operation replaced by its first operand: most filler keeps the shape, so that many can go at once."""
    number = numbers(tree)
    edits = []
    for node in _operations(tree):
        operand = next(iter(_operands(node)), None)
        if operand is not None:
            edits.append(Edit.of(number[id(node)], Ref(number[id(operand)]), weight(node) - weight(operand)))
    return edits


def hoists(tree: ast.Module) -> list[Edit]:
    """Every operation replaced by one of its operands, largest gain last (the schedule starts there)."""
    number = numbers(tree)
    edits = [
        Edit.of(number[id(node)], Ref(number[id(operand)]), weight(node) - weight(operand))
        for node in _operations(tree)
        for operand in _operands(node)
    ]
    return sorted(edits, key=lambda edit: edit.gain)


def _operations(tree: ast.Module) -> Iterator[ast.expr]:
    above = parents(tree)
    for node in walk(tree):
        if isinstance(
            node,
            ast.Call
            | ast.BinOp
            | ast.UnaryOp
            | ast.Compare
            | ast.Subscript
            | ast.BoolOp
            | ast.Attribute
            | ast.Starred
            | ast.Tuple
            | ast.List,
        ):
            if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
                continue
            if isinstance(node, ast.Attribute) and isinstance(above.get(id(node)), ast.Call) and above[id(node)].func is node:  # type: ignore[attr-defined]
                continue
            if isinstance(node, ast.Tuple | ast.List) and not _is_single_result(node, above):
                continue
            yield node


def _is_single_result(node: ast.Tuple | ast.List, above: dict[int, ast.AST]) -> bool:
    """``return (x,)`` outside ``get_inputs``, which has to return a list."""
    result = above.get(id(node))
    function = above.get(id(result))
    if len(node.elts) != 1 or not isinstance(result, ast.Return):
        return False
    return not (isinstance(function, ast.FunctionDef) and function.name in ("get_inputs", "get_init_inputs"))


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.Call(func=func, args=args, keywords=keywords):
            receiver = [func.value] if isinstance(func, ast.Attribute) and not _is_namespace(func.value) else []
            if not receiver and _name(func) in MAKERS:
                return []
            found = [*receiver, *(a.value if isinstance(a, ast.Starred) else a for a in args), *(k.value for k in keywords)]
            return [a for a in found if not isinstance(a, ast.Constant)]
        case ast.BinOp(left=left, right=right):
            return [e for e in (left, right) if not isinstance(e, ast.Constant)]
        case ast.UnaryOp(operand=operand):
            return [] if isinstance(operand, ast.Constant) else [operand]
        case ast.Compare(left=left, comparators=[right]):
            return [e for e in (left, right) if not isinstance(e, ast.Constant)]
        case ast.BoolOp(values=values):
            return list(values)
        case ast.Subscript(value=value):
            return [value]
        case ast.Attribute(value=value):
            return [] if _is_namespace(value) else [value]
        case ast.Tuple(elts=[element]) | ast.List(elts=[element]):
            return [element]
        case _:
            return []


def _is_namespace(node: ast.expr) -> bool:
    """``torch``, ``F``, ``torch.nn.functional``: the place of a function, not an operand."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in {"torch", "F", "nn", "math", "operator", "functools", "itertools", "self", "np"}


def _name(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


NEEDED = frozenset(
    {
        "matmul", "mm", "bmm", "mv", "dot", "add", "sub", "mul", "div", "pow", "where", "permute", "transpose", "expand", "view", "reshape",
        "repeat", "softmax", "log_softmax", "gather", "index_select", "scatter", "scatter_add", "index_add", "index_copy", "index_put", "narrow",
        "unfold", "as_strided", "cumsum", "cumprod", "linear", "conv1d", "conv2d", "conv3d", "embedding", "addmm", "baddbmm", "isin", "lerp",
        "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "fmod", "remainder", "atan2", "swapaxes", "movedim", "select", "split",
        "chunk", "masked_fill", "masked_select", "take", "append", "isinstance", "getattr", "setattr", "hasattr", "autocast", "to", "add_",
        "mul_", "sub_", "div_", "copy_", "fill_", "resize_", "as_strided_", "index_put_", "scatter_", "masked_fill_", "unsqueeze",
    }
)  # fmt: skip
"""Calls whose positional arguments are all needed: dropping one only ever raises."""


def arguments(tree: ast.Module) -> list[Edit]:
    """Keyword arguments, last positional ones, the leading dimension of inputs, decorators, base classes, ``with`` items."""
    number, above = numbers(tree), parents(tree)
    edits: list[Edit] = []
    for node in walk(tree):
        if isinstance(node, ast.Call):
            edits += [Edit.of(number[id(k)], None, weight(k)) for k in node.keywords if k.arg is not None]
            method = isinstance(node.func, ast.Attribute) and not _is_namespace(node.func.value)
            name = _name(node.func)
            if len(node.args) > (0 if method else 1) and name not in NEEDED | MAKERS and not isinstance(above.get(id(node)), ast.withitem):
                edits.append(Edit.of(number[id(node.args[-1])], None, weight(node.args[-1])))
        elif isinstance(node, ast.FunctionDef):
            edits += [Edit.of(number[id(d)], None, weight(d)) for d in node.decorator_list]
        elif isinstance(node, ast.ClassDef) and node.name != "Model":
            edits += [Edit.of(number[id(b)], None, weight(b)) for b in (*node.bases, *node.decorator_list)]
        elif isinstance(node, ast.With) and len(node.items) > 1:
            edits += [Edit.of(number[id(i)], None, weight(i)) for i in node.items]
    return edits + _ranks(tree, number)


def _ranks(tree: ast.Module, number: dict[int, int]) -> list[Edit]:
    """The leading dimension of every input at once, and of each input alone."""
    maker = next((f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "get_inputs"), None)
    leading = [
        node.args[0]
        for node in (walk(maker) if maker is not None else ())
        if isinstance(node, ast.Call) and _name(node.func) in SHAPED and len(node.args) > 1
    ]
    together = [Edit(tuple((number[id(a)], None) for a in leading))] if len(leading) > 1 else []
    return [*(Edit.of(number[id(a)], None) for a in leading), *together]


def constants(tree: ast.Module) -> list[Edit]:
    """Numbers outside ``get_inputs`` made plain: floats to 1.0, 2.0 or a round value, integers towards 0, strings left alone."""
    number = numbers(tree)
    skip = {id(n) for m in tree.body if isinstance(m, ast.FunctionDef) and m.name == "get_inputs" for n in walk(m)}
    edits = []
    for node in walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in skip:
            edits += [Edit.of(number[id(node)], ast.Constant(v)) for v in plainer(node.value)]
    return edits


def plainer(value: object) -> list[int | float | bool]:
    """Simpler numbers to try instead, the simplest last."""
    if isinstance(value, bool) or value in (0, 1, 2) or not isinstance(value, int | float):
        return []
    if isinstance(value, int):
        return [v for v in (3, 2, 1) if v < value] if 0 < value < 100 else [-1] if value < -1 else []
    return [2.0, 1.0] if value == value and abs(value) < 1000 and value not in (0.5,) else []
