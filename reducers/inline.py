"""Edits that put a definition where it is used: names used once, helpers, builders at module level, aliases. They change no meaning in
straight-line code; where order or identity matters the oracle says so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from reducers.names import arguments, own_nodes
from reducers.nodes import all_copied, copied, walk
from reducers.tree import HARNESS, Edit, Ref, numbers, parents, weight

WIDTH = 110
"""An expression longer than this keeps its name: a person has to read it."""


def names(tree: ast.Module) -> list[Edit]:
    """Names bound once from an expression and read once put where they are read; names that only stand for another name, everywhere."""
    number, above = numbers(tree), parents(tree)
    edits: list[Edit] = []
    for scope in walk(tree):
        if isinstance(scope, ast.Module | ast.FunctionDef):
            edits += _scope_names(scope, number, above)
        if not isinstance(scope, ast.Module):
            edits += _chained(scope, number)
    return edits


def _chained(scope: ast.AST, number: dict[int, int]) -> Iterator[Edit]:
    """``y = f(x)`` before ``y = g(y)`` or ``return g(y)``, for names that are bound more than once: the first value put where it is read."""
    body = getattr(scope, "body", None)
    for before, after in pairwise(body) if isinstance(body, list) else ():
        match before:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in HARNESS:
                pass
            case _:
                continue
        over = isinstance(after, ast.Return) or (
            isinstance(after, ast.Assign) and [t.id for t in after.targets if isinstance(t, ast.Name)] == [name]
        )
        loads = [n for n in walk(after) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
        inside = any(isinstance(n, ast.Lambda | ast.comprehension) for n in walk(after))
        if over and not inside and len(loads) == 1 and len(ast.unparse(value)) <= WIDTH and not _declared(scope, name):
            yield Edit(((number[id(before)], None), (number[id(loads[0])], Ref(number[id(value)]))), 2)


def _scope_names(scope: ast.Module | ast.FunctionDef, number: dict[int, int], above: dict[int, ast.AST]) -> Iterator[Edit]:
    everything = [n for n in walk(scope) if isinstance(n, ast.Name)]
    for statement in [n for n in own_nodes(scope) if isinstance(n, ast.Assign)]:
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name) or target.id in HARNESS:
            continue
        stores = [n for n in everything if n.id == target.id and not isinstance(n.ctx, ast.Load)]
        loads = [n for n in everything if n.id == target.id and isinstance(n.ctx, ast.Load)]
        if len(stores) != 1 or not loads or _declared(scope, target.id):
            continue
        value = statement.value
        alias = isinstance(value, ast.Name) and sum(n.id == value.id and isinstance(n.ctx, ast.Store) for n in everything) <= 1
        if (
            alias
            or (isinstance(value, ast.Constant) and isinstance(scope, ast.FunctionDef))
            or (len(loads) == 1 and len(ast.unparse(value)) <= WIDTH and _modes(statement, above) == _modes(loads[0], above))
        ):
            where = number[id(value)]
            uses = [(number[id(load)], Ref(where) if len(loads) == 1 else copied(value)) for load in loads]
            yield Edit(((number[id(statement)], None), *uses), 2)


def _modes(node: ast.AST, above: dict[int, ast.AST]) -> list[int]:
    """The ``with`` blocks around a node: what is computed under a mode stays there."""
    around = []
    at: ast.AST | None = node
    while at is not None:
        if isinstance(at, ast.With):
            around.append(id(at))
        at = above.get(id(at))
    return around


def _declared(scope: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Global | ast.Nonlocal) and name in n.names for n in walk(scope))


def helpers(tree: ast.Module) -> list[Edit]:
    """Calls of functions that are one ``return`` (lambdas bound to a name too), replaced by what they return."""
    number = numbers(tree)
    single = {f.name: (f, value) for f in walk(tree) if isinstance(f, ast.FunctionDef) and (value := single_value(f)) is not None}
    edits = []
    for node in walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in single:
            function, value = single[node.func.id]
            bound = arguments_of(function, node)
            if bound is not None and not any(n is node for n in walk(function)):
                edits.append(Edit.of(number[id(node)], Substitute(bound).visit(copied(value)), weight(value)))
    return edits


def single_value(function: ast.FunctionDef) -> ast.expr | None:
    """What a function that is one ``return`` returns."""
    first = function.body[0]
    if len(function.body) != 1 or not isinstance(first, ast.Return) or function.name in HARNESS or function.decorator_list:
        return None
    return first.value


class Substitute(ast.NodeTransformer):
    """Puts expressions in the place of the names that are read."""

    def __init__(self, bound: dict[str, ast.expr]) -> None:
        self.bound = bound

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copied(self.bound[node.id]) if node.id in self.bound and isinstance(node.ctx, ast.Load) else node


def arguments_of(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr] | None:
    """What each parameter is bound to; None for calls that cannot be read off."""
    a = function.args
    if (
        a.vararg
        or a.kwarg
        or a.posonlyargs
        or any(isinstance(x, ast.Starred) for x in call.args)
        or any(k.arg is None for k in call.keywords)
    ):
        return None
    order = [p.arg for p in a.args]
    if len(call.args) > len(order):
        return None
    bound = dict(zip(order[len(order) - len(a.defaults) :], a.defaults, strict=True))
    bound |= {p.arg: d for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True) if d is not None}
    bound |= dict(zip(order, call.args, strict=False))
    bound |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    wanted = {p.arg for p in arguments(function)}
    return bound if set(bound) == wanted else None


def spliced(tree: ast.Module) -> list[Edit]:
    """Statements ``x = helper(...)``, ``return helper(...)``, ``helper(...)`` replaced by the helper's body, its names made fresh."""
    number, above = numbers(tree), parents(tree)
    bodies = {f.name: f for f in walk(tree) if isinstance(f, ast.FunctionDef) and _is_spliceable(f)}
    edits = []
    for node in walk(tree):
        call = node.value if isinstance(node, ast.Assign | ast.Return | ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in bodies):
            continue
        helper = bodies[call.func.id]
        bound = arguments_of(helper, call)
        scope = _scope_of(node, above)
        if bound is None or scope is helper or any(n is node for n in walk(helper)):
            continue
        assert isinstance(node, ast.Assign | ast.Return | ast.Expr)
        edits.append(Edit.of(number[id(node)], tuple(_spliced(node, helper, bound, scope)), weight(helper)))
    return edits


def _is_spliceable(function: ast.FunctionDef) -> bool:
    if function.name in HARNESS or function.decorator_list:
        return False
    returns = [n for n in own_nodes(function) if isinstance(n, ast.Return)]
    yields = any(isinstance(n, ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal) for n in own_nodes(function))
    return not yields and (not returns or (len(returns) == 1 and function.body[-1] is returns[0]))


def _scope_of(node: ast.AST, above: dict[int, ast.AST]) -> ast.AST:
    while not isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
        node = above[id(node)]
    return node


def _spliced(
    node: ast.Assign | ast.Return | ast.Expr, helper: ast.FunctionDef, bound: dict[str, ast.expr], scope: ast.AST
) -> Iterator[ast.stmt]:
    taken = {n.id for n in walk(scope) if isinstance(n, ast.Name)}
    own = {n.id for n in own_nodes(helper) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    own |= {n.name for n in own_nodes(helper) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    renamed = {name: _fresh(name, taken) for name in sorted(own | set(bound)) if name in taken}
    body = all_copied(helper.body)
    rename = Renamer(renamed)
    for name, value in bound.items():
        yield ast.Assign([ast.Name(renamed.get(name, name), ast.Store())], copied(value), lineno=0)
    for statement in body:
        changed = rename.visit(statement)
        if not isinstance(changed, ast.Return):
            yield changed
            continue
        value = changed.value or ast.Constant(None)
        if isinstance(node, ast.Assign):
            yield ast.Assign(all_copied(node.targets), value, lineno=0)
        else:
            yield ast.Return(value) if isinstance(node, ast.Return) else ast.Expr(value)


def _fresh(name: str, taken: set[str]) -> str:
    return next(n for n in (f"{name}_{i}" for i in range(1, 10_000)) if n not in taken)


class Renamer(ast.NodeTransformer):
    """Renames names, parameters, functions and classes everywhere in a tree."""

    def __init__(self, renamed: dict[str, str]) -> None:
        self.renamed = renamed

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.renamed.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.renamed.get(node.arg, node.arg)
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self.renamed.get(node.name, node.name)
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self.renamed.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self.renamed.get(n, n) for n in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.Nonlocal:
        node.names = [self.renamed.get(n, n) for n in node.names]
        return node


def unpacked(tree: ast.Module) -> list[Edit]:
    """``a, b = x, y`` as two statements."""
    number = numbers(tree)
    edits = []
    for node in walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
                parts = tuple(ast.Assign([t], v, lineno=0) for t, v in zip(target.elts, value.elts, strict=True))
                edits.append(Edit.of(number[id(node)], parts))
    return edits


def returned_inside(tree: ast.Module) -> list[Edit]:
    """``with m: y = f(x)`` before ``return y`` as ``with m: return f(x)``, and ``y.append(f(x))`` before it as ``return f(x)``."""
    number = numbers(tree)
    edits = []
    for scope in walk(tree):
        block = getattr(scope, "body", None)
        for before, after in pairwise(block) if isinstance(block, list) else ():
            match before, after:
                case (
                    ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item], keywords=[])),
                    ast.Return(value=ast.Name(id=returned)),
                ) if name == returned:
                    edits.append(Edit(((number[id(before)], None), (number[id(after)], ast.Return(copied(item)))), 2))
            if not (isinstance(before, ast.With) and isinstance(after, ast.Return) and isinstance(after.value, ast.Name)):
                continue
            last = before.body[-1]
            if isinstance(last, ast.Assign) and [ast.unparse(t) for t in last.targets] == [after.value.id]:
                made = ast.Return(copied(last.value))
                edits.append(Edit(((number[id(last)], made), (number[id(after)], None)), 2))
    return edits


def harness(tree: ast.Module) -> list[Edit]:
    """``fn = f`` with a function ``f``: the function itself takes the name; ``fn = lambda ...`` becomes a ``def``."""
    number = numbers(tree)
    edits = []
    for statement in tree.body:
        if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name)):
            continue
        name, value = statement.targets[0].id, statement.value
        if name not in HARNESS:
            continue
        if isinstance(value, ast.Lambda):
            made = ast.FunctionDef(name, value.args, [ast.Return(value.body)], [], None, None, lineno=0)
            edits.append(Edit.of(number[id(statement)], made))
        elif isinstance(value, ast.Name):
            home = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == value.id]
            uses = [n for n in walk(tree) if isinstance(n, ast.Name) and n.id == value.id]
            if len(home) == 1:
                renamed = Renamer({value.id: name}).visit(copied(home[0]))
                others = tuple((number[id(n)], ast.Name(name, n.ctx)) for n in uses if n is not value)
                edits.append(Edit(((number[id(statement)], None), (number[id(home[0])], renamed), *others)))
    return edits
