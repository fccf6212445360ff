"""Calls that make a tensor, said in the plainest way: ``randint(0, 1, (3,))`` is ``zeros``, ``full((2, 1), 1)`` is ``ones``."""

from __future__ import annotations

import ast

from reducers.nodes import all_copied, copied
from reducers.tree import function

MAKERS = ("get_inputs", "get_init_inputs")
FEWEST = 3
"""Elements from which equal ones are worth a name of their own; shorter literals read well."""


def plain(tree: ast.Module) -> ast.Module:
    """A copy whose inputs are made in the plainest way that gives the same values and dtype."""
    work = copied(tree)
    for name in MAKERS:
        maker = function(work, name)
        if maker is not None:
            _Plain().visit(maker)
    return work


class _Plain(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        made = _plainer(node)
        return made if made is not None else node


def _plainer(node: ast.Call) -> ast.Call | None:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr="randint"), args=[ast.Constant(0), ast.Constant(1), size]):
            return filled(node, "zeros", size, 0)
        case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr="randint"), args=[ast.Constant(1), size]):
            return filled(node, "zeros", size, 0)
        case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr="full"), args=[size, ast.Constant(0 | 1 as value)]):
            return filled(node, "ones" if value else "zeros", size, value)
        case ast.Call(func=ast.Attribute(value=ast.Name("torch"), attr="tensor"), args=[ast.List() as data]):
            shape, leaves = shape_of(data)
            values = {(type(leaf.value), leaf.value) for leaf in leaves if isinstance(leaf, ast.Constant)}
            if len(leaves) >= FEWEST and len(values) == 1 and all(isinstance(leaf, ast.Constant) for leaf in leaves):
                told: object = next(iter(values))[1]
                if told in (0, 1) and type(told) in (int, float, bool):
                    return filled(node, "ones" if told else "zeros", ast.Tuple([ast.Constant(n) for n in shape], ast.Load()), told)
    return None


def filled(node: ast.Call, name: str, size: ast.expr, value: object) -> ast.Call | None:
    """``torch.ones(2, 3)``, with the dtype that ``value`` had unless the call says one; None where the size is no display."""
    if not isinstance(size, ast.Tuple | ast.List) or not size.elts:
        return None
    keywords = list(node.keywords)
    if not any(k.arg == "dtype" for k in keywords) and not isinstance(value, float):
        dtype = "bool" if isinstance(value, bool) else "int64"
        keywords.append(ast.keyword("dtype", ast.Attribute(ast.Name("torch", ast.Load()), dtype, ast.Load())))
    return ast.Call(ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load()), all_copied(size.elts), keywords)


def shape_of(node: ast.expr) -> tuple[list[int], list[ast.expr]]:
    """Shape and leaves of nested lists; no leaves when they are ragged."""
    if not isinstance(node, ast.List):
        return [], [node]
    parts = [shape_of(e) for e in node.elts]
    if not parts or any(shape != parts[0][0] for shape, _ in parts):
        return [], []
    return [len(parts), *parts[0][0]], [leaf for _, leaves in parts for leaf in leaves]
