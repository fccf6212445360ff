"""Edits that remove statements, take blocks out of what surrounds them, and drop elements of what is returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from reducers.nodes import walk
from reducers.tree import Edit, Ref, apply, bound_by, numbers, parents, weight

NEEDED = frozenset({"fn", "Model", "get_inputs"})
"""Harness names that must stay bound; ``drive`` and ``get_init_inputs`` are optional."""


def deletions(tree: ast.Module) -> list[Edit]:
    """One edit a statement. What binds the harness and the last ``return`` of a function stay."""
    number = numbers(tree)
    return [Edit.of(number[id(s)], None, weight(s)) for s in _statements(tree) if _removable(s, tree)]


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield from block


def unassigned(tree: ast.Module) -> list[Edit]:
    """``y = f(x)`` as ``f(x)`` where nothing reads ``y``: the call is what matters."""
    number = numbers(tree)
    read = {n.id for n in walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    edits = []
    for node in _statements(tree):
        called = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node not in tree.body
        if called and isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) and t.id not in read for t in node.targets):
            edits.append(Edit.of(number[id(node)], ast.Expr(node.value)))
    return edits


def _removable(statement: ast.stmt, tree: ast.Module) -> bool:
    if isinstance(statement, ast.Pass):
        return False
    if statement in tree.body:
        return not bound_by(statement) & NEEDED
    return not (isinstance(statement, ast.Return) and statement.value is not None and _last_of_function(statement, tree))


def _last_of_function(statement: ast.Return, tree: ast.Module) -> bool:
    return any(isinstance(n, ast.FunctionDef) and n.body and n.body[-1] is statement for n in walk(tree))


def unwraps(tree: ast.Module) -> list[Edit]:
    """``with``, ``if``, ``for``, ``while`` and ``try`` replaced by what they contain, each branch apart; loops also by two turns of them."""
    number = numbers(tree)
    edits: list[Edit] = []

    def swap(node: ast.stmt, block: list[ast.stmt], *before: ast.stmt) -> None:
        if block:
            edits.append(Edit.of(number[id(node)], (*before, *(Ref(number[id(s)]) for s in block)), weight(node)))

    for node in walk(tree):
        if isinstance(node, ast.With | ast.While):
            swap(node, node.body)
        elif isinstance(node, ast.If):
            swap(node, node.orelse)
            swap(node, node.body)
        elif isinstance(node, ast.For):
            swap(node, node.body, ast.Assign([node.target], _first_item(node.iter), lineno=0))
            edits += _unrolled(node, number)
        elif isinstance(node, ast.Try):
            for handler in node.handlers:
                swap(node, handler.body)
            swap(node, [*node.body, *node.orelse, *node.finalbody])
        elif isinstance(node, ast.IfExp):
            edits += [Edit.of(number[id(node)], Ref(number[id(part)]), weight(node)) for part in (node.orelse, node.body)]
    return edits


def _unrolled(loop: ast.For, number: dict[int, int]) -> Iterator[Edit]:
    """A loop that does not read its variable, as its body once and the beginning of it again."""
    own = {n.id for n in walk(loop.target) if isinstance(n, ast.Name)}
    inside = [n for s in loop.body for n in walk(s)]
    if any(isinstance(n, ast.Break | ast.Continue) or (isinstance(n, ast.Name) and n.id in own) for n in inside):
        return
    body = [Ref(number[id(s)]) for s in loop.body]
    for again in range(len(body), 0, -1):
        if again == 1 or len(body) > 1:
            yield Edit.of(number[id(loop)], (*body, *body[:again]), 1)


def _first_item(iterable: ast.expr) -> ast.expr:
    """What a loop over it binds first."""
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name) and iterable.func.id == "range":
        return iterable.args[0] if len(iterable.args) > 1 else ast.Constant(0)
    if isinstance(iterable, ast.Tuple | ast.List) and iterable.elts:
        return iterable.elts[0]
    return ast.Call(ast.Name("next", ast.Load()), [ast.Call(ast.Name("iter", ast.Load()), [iterable], [])], [])


def ternaries(tree: ast.Module) -> list[Edit]:
    """``if c: a = x`` ``else: a = y`` as ``a = x if c else y``; the same with ``return``."""
    number = numbers(tree)
    edits = []
    for node in walk(tree):
        if not (isinstance(node, ast.If) and len(node.body) == 1 and len(node.orelse) == 1):
            continue
        match node.body[0], node.orelse[0]:
            case ast.Assign(targets=[ast.Name(id=one) as target], value=yes), ast.Assign(targets=[ast.Name(id=other)], value=no) if (
                one == other
            ):
                edits.append(Edit.of(number[id(node)], ast.Assign([target], ast.IfExp(node.test, yes, no), lineno=0), 2))
            case ast.Return(value=ast.expr() as yes), ast.Return(value=ast.expr() as no):
                edits.append(Edit.of(number[id(node)], ast.Return(ast.IfExp(node.test, yes, no)), 2))
    return edits


def elements(tree: ast.Module) -> list[Edit]:
    """Elements of tuples, lists, sets and dictionaries in code and inputs; unpacking targets go with their values."""
    number, above = numbers(tree), parents(tree)
    coupled = _coupled(tree, number)
    edits: list[Edit] = list(coupled[1])
    for node in walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and not isinstance(getattr(node, "ctx", None), ast.Store):
            if isinstance(above.get(id(node)), ast.Subscript) or _is_inputs(node, above) or _is_row(node, above) or node is coupled[0]:
                continue
            edits += [Edit.of(number[id(e)], None, weight(e)) for e in node.elts if len(node.elts) > 1]
        elif isinstance(node, ast.Dict) and len(node.keys) > 1:
            edits += [_without_item(node, i, number) for i in range(len(node.keys))]
    return edits


def _coupled(tree: ast.Module, number: dict[int, int]) -> tuple[ast.AST | None, list[Edit]]:
    """What ``fn`` returns, where ``a, b = fn(...)`` in ``drive`` takes it apart: elements go on both sides, with the names in ``return``."""
    results = _last_display(tree, ("fn", "forward"))
    drive = next((f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == "drive" and f.args.args), None)
    if results is None or drive is None:
        return None, []
    tested = drive.args.args[0].arg
    edits: list[Edit] = []
    for node in walk(drive):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)):
            continue
        target = node.targets[0]
        if node.value.func.id != tested or not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(results.elts):
            continue
        last = _last_display(tree, ("drive",))
        for ours, theirs in zip(results.elts, target.elts, strict=True) if len(target.elts) > 1 else ():
            shown = [e for e in last.elts if isinstance(e, ast.Name) and isinstance(theirs, ast.Name) and e.id == theirs.id] if last else []
            edits.append(Edit(tuple((number[id(n)], None) for n in (ours, theirs, *shown)), weight(ours)))
        return results, edits
    return None, []


def _last_display(tree: ast.Module, names: tuple[str, ...]) -> ast.Tuple | ast.List | None:
    """The tuple or list that the function of one of these names ends in returning."""
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names and node.body and isinstance(node.body[-1], ast.Return):
            value = node.body[-1].value
            return value if isinstance(value, ast.Tuple | ast.List) else None
    return None


def _is_row(node: ast.AST, above: dict[int, ast.AST]) -> bool:
    """Whether a list is a row of a literal matrix, whose columns go together or not at all."""
    matrix = above.get(id(node))
    return isinstance(node, ast.List) and isinstance(matrix, ast.List) and len(matrix.elts) > 1


def _is_inputs(node: ast.AST, above: dict[int, ast.AST]) -> bool:
    """Whether a display is what ``get_inputs`` returns: its elements go with the parameters that they feed."""
    function = above.get(id(above.get(id(node))))
    return isinstance(above.get(id(node)), ast.Return) and isinstance(function, ast.FunctionDef) and function.name == "get_inputs"


def _without_item(node: ast.Dict, index: int, number: dict[int, int]) -> Edit:
    keys = [k for i, k in enumerate(node.keys) if i != index]
    values = [v for i, v in enumerate(node.values) if i != index]
    return Edit.of(number[id(node)], ast.Dict(keys, values), weight(node.values[index]))


def returned(tree: ast.Module, kept: frozenset[int]) -> ast.Module | None:
    """The program whose callable returns only these elements of its last ``return a, b, c``; None when it does not end so."""
    number = numbers(tree)
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("fn", "forward") and node.body and isinstance(node.body[-1], ast.Return):
            value = node.body[-1].value
            if not isinstance(value, ast.Tuple | ast.List) or not kept or max(kept) >= len(value.elts):
                return None
            chosen = [value.elts[i] for i in sorted(kept)]
            result = chosen[0] if len(chosen) == 1 else ast.Tuple(list(chosen), ast.Load())
            return apply(tree, [Edit.of(number[id(value)], result)])
    return None
