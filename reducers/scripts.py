"""A script that calls ``torch.compile`` itself, as programs in harness form: one for each compiled call at its top level, and one whose
``drive`` makes all of them. Text only; whether the bug is still there is for the oracle to say.
"""

from __future__ import annotations

import ast

from reducers.nodes import all_copied, walk
from reducers.tree import show
from store.syntax import parse

MOST_CALLS = 4
"""Compiled calls of a script that get a program of their own."""


def as_harness(source: str) -> list[str]:
    """Programs to try in the place of a script, the simplest first; none where no compiled call stands at its top level."""
    tree = _flat(parse(source))
    compiled = _uncompiled(tree)
    places = [i for i, s in enumerate(tree.body) if not _is_definition(s) and _calls(s, compiled)]
    texts = [text for i in places[:MOST_CALLS] if (text := _single(tree, i, compiled)) is not None]
    driven = _driven(tree, places, compiled) if places else None
    return [*texts, *([driven] if driven is not None else [])]


def _flat(tree: ast.Module) -> ast.Module:
    """``if __name__ == "__main__":`` unwrapped, asserts and prints of no value dropped."""
    body: list[ast.stmt] = []
    for statement in tree.body:
        main = isinstance(statement, ast.If) and any(isinstance(n, ast.Name) and n.id == "__name__" for n in walk(statement.test))
        body += statement.body if main and isinstance(statement, ast.If) else [statement]
    return ast.Module([s for s in body if not isinstance(s, ast.Assert)], [])


class _Uncompile(ast.NodeTransformer):
    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        kept = [d for d in node.decorator_list if not _is_compile(d.func if isinstance(d, ast.Call) else d)]
        if len(kept) < len(node.decorator_list):
            self.names.add(node.name)
        node.decorator_list = kept
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        if _compiles(node.value) is not None:
            self.names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        inner = _compiles(node)
        if inner is None:
            return node
        if isinstance(inner, ast.Name):
            self.names.add(inner.id)
        return inner


def _uncompiled(tree: ast.Module) -> set[str]:
    """Takes every ``torch.compile`` out of a tree; the names that were compiled."""
    work = _Uncompile()
    work.visit(tree)
    kept = []
    for statement in tree.body:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="compile"))) if name != "torch":
                work.names.add(name)
            case _:
                kept.append(statement)
    tree.body = kept
    return work.names


def _is_compile(node: ast.expr) -> bool:
    return ast.unparse(node) in ("torch.compile", "torch._dynamo.optimize", "compile")


def _compiles(node: ast.expr) -> ast.expr | None:
    """What ``torch.compile(f, ...)`` or ``torch._dynamo.optimize(...)(f)`` compiles."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    func = node.func
    if ast.unparse(func) == "torch.compile":
        return node.args[0]
    return node.args[0] if isinstance(func, ast.Call) and ast.unparse(func.func) in ("torch._dynamo.optimize", "torch.compile") else None


def _is_definition(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)


def _calls(statement: ast.AST, compiled: set[str]) -> list[ast.Call]:
    return [n for n in walk(statement) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in compiled]


def _single(tree: ast.Module, place: int, compiled: set[str]) -> str | None:
    call = _calls(tree.body[place], compiled)[0]
    if call.keywords or any(isinstance(a, ast.Starred) for a in call.args) or not isinstance(call.func, ast.Name):
        return None
    before = all_copied(tree.body[:place])
    maker = _function("get_inputs", [], [ast.Return(ast.List(all_copied(call.args), ast.Load()))])
    return show(ast.Module([*before, *_as_fn(call.func.id), maker], []))


def _driven(tree: ast.Module, places: list[int], compiled: set[str]) -> str | None:
    """All calls of the one callable, what they return in a list."""
    names = {c.func.id for i in places for c in _calls(tree.body[i], compiled) if isinstance(c.func, ast.Name)}
    if len(names) != 1:
        return None
    name = names.pop()
    body: list[ast.stmt] = [ast.Assign([ast.Name("results", ast.Store())], ast.List([], ast.Load()), lineno=0)]
    for statement in all_copied(tree.body[places[0] : places[-1] + 1]):
        for call in _calls(statement, compiled):
            call.func = ast.Name("f", ast.Load())
        body += _kept(statement)
    body.append(ast.Return(ast.Name("results", ast.Load())))
    drive = _function("drive", ["f", "inputs"], body)
    maker = _function("get_inputs", [], [ast.Return(ast.List([], ast.Load()))])
    return show(ast.Module([*all_copied(tree.body[: places[0]]), *_as_fn(name), maker, drive], []))


def _kept(statement: ast.stmt) -> list[ast.stmt]:
    """A statement that calls ``f``, with what it returns appended to ``results``."""
    calls = _calls(statement, {"f"})
    if not calls:
        return [statement]
    if isinstance(statement, ast.Assign) and statement.value is calls[0] and isinstance(statement.targets[0], ast.Name):
        return [statement, _append(ast.Name(statement.targets[0].id, ast.Load()))]
    return [_append(call) for call in calls]


def _append(value: ast.expr) -> ast.stmt:
    return ast.Expr(ast.Call(ast.Attribute(ast.Name("results", ast.Load()), "append", ast.Load()), [value], []))


def _as_fn(name: str) -> list[ast.stmt]:
    return [] if name == "fn" else [ast.Assign([ast.Name("fn", ast.Store())], ast.Name(name, ast.Load()), lineno=0)]


def _function(name: str, parameters: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    made = parse(f"def {name}({', '.join(parameters)}):\n    pass\n").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made
