"""Edits for programs that wrap what they do in objects: an instance in the place of the way to it, what a method returns in the place of its
call, classes without their ``__init__``.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from reducers.inline import Substitute, arguments_of, single_value
from reducers.names import BUILTIN
from reducers.nodes import children, copied, walk
from reducers.tree import Edit, apply, bound_by, numbers, weight

MOST = 24
"""Edits of one kind; a program with a hundred registries is no ordinary one."""


def instances(tree: ast.Module) -> list[Edit]:
    """What a function finds by way of calls and subscripts of module-level names (``next(iter(registry))``, ``stages["a"]``) replaced by an
    instance of one of the program's classes; one that is made inside a larger expression gets a name of its own first.
    """
    classes = {s.name for s in tree.body if isinstance(s, ast.ClassDef)}
    number = numbers(tree)
    edits: list[Edit] = []
    for statement, call in _made(tree, classes):
        named = isinstance(statement, ast.Assign) and statement.value is call and isinstance(statement.targets[0], ast.Name)
        name = statement.targets[0].id if named and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) else ""
        for way in _ways(tree):
            if name:
                edits.append(Edit.of(number[id(way)], ast.Name(name, ast.Load()), weight(way)))
            elif (changed := _named(tree, statement, call)) is not None:
                fresh, first = changed
                edits.append(Edit(((number[id(statement)], first), (number[id(way)], ast.Name(fresh, ast.Load()))), weight(way)))
    return edits[:MOST]


def _made(tree: ast.Module, classes: set[str]) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Module-level statements with the constructor calls in them."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.Expr):
            for node in walk(statement):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
                    yield statement, node


def _named(tree: ast.Module, statement: ast.stmt, call: ast.Call) -> tuple[str, tuple[ast.stmt, ...]] | None:
    """A fresh name, and the statement behind an assignment of the call to it."""
    taken = {n.id for n in walk(tree) if isinstance(n, ast.Name)}
    fresh = next(name for i in range(len(taken) + 1) if (name := f"made{i}") not in taken)
    alone = ast.Module([statement], [])
    changed = apply(alone, [Edit.of(numbers(alone)[id(call)], ast.Name(fresh, ast.Load()))])
    if changed is None:
        return None
    return fresh, (ast.Assign([ast.Name(fresh, ast.Store())], call, lineno=0), *changed.body)


def _ways(tree: ast.Module) -> Iterator[ast.expr]:
    """Outermost calls and subscripts inside functions that hang on nothing but module-level names, and what is inside them."""
    known = {name for s in tree.body for name in bound_by(s)}
    for function in walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name not in ("get_inputs", "get_init_inputs"):
            for node in walk(function):
                if isinstance(node, ast.Call | ast.Subscript) and _is_way(node, known):
                    yield node


def _is_way(node: ast.expr, known: set[str]) -> bool:
    names = {n.id for n in walk(node) if isinstance(n, ast.Name)}
    nested = any(isinstance(c, ast.Call | ast.Subscript | ast.Attribute) for c in children(node)) or isinstance(node, ast.Subscript)
    return nested and bool(names - BUILTIN) and names <= known | BUILTIN and "torch" not in names


def methods(tree: ast.Module) -> list[Edit]:
    """``a.scaled(x)`` replaced by what the method returns, where one class alone has a method of that name and it is one ``return``."""
    number = numbers(tree)
    owners = [c for c in walk(tree) if isinstance(c, ast.ClassDef)]
    known: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    for owner in owners:
        for statement in owner.body:
            if isinstance(statement, ast.FunctionDef):
                known[statement.name].append(statement)
    edits = []
    for node in walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)):
            continue
        found = known.get(node.func.attr, [])
        value = single_value(found[0]) if len(found) == 1 else None
        if value is None or any(n is node for n in walk(found[0])):
            continue
        whole = ast.Call(node.func, [node.func.value, *node.args], node.keywords)
        bound = arguments_of(found[0], whole)
        if bound is not None:
            edits.append(Edit.of(number[id(node)], Substitute(bound).visit(copied(value)), weight(value)))
    return edits


def constructors(tree: ast.Module) -> list[Edit]:
    """A class without its ``__init__``, and what was handed to it gone from every call of the class and of those that inherit it."""
    number = numbers(tree)
    edits = []
    for owner in walk(tree):
        if not isinstance(owner, ast.ClassDef):
            continue
        init = next((s for s in owner.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
        if init is None:
            continue
        heirs = _heirs(tree, owner.name)
        handed = [
            number[id(part)]
            for call in walk(tree)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in heirs
            for part in (*call.args, *call.keywords)
        ]
        edits.append(Edit(((number[id(init)], None), *((place, None) for place in handed)), weight(init)))
    return edits


def _heirs(tree: ast.Module, name: str) -> set[str]:
    """The class and every class that inherits it by name."""
    found = {name}
    classes = [c for c in walk(tree) if isinstance(c, ast.ClassDef)]
    while more := {c.name for c in classes if any(isinstance(b, ast.Name) and b.id in found for b in c.bases)} - found:
        found |= more
    return found
