"""Whether two programs are the same but for names, comments, docstrings and spelling."""

from __future__ import annotations

import ast
import hashlib

from store.syntax import parse

KEPT = frozenset({"fn", "Model", "drive", "get_inputs", "get_init_inputs", "forward"})
"""Names that mean something to the harness."""


def digest(source: str) -> str:
    """Equal for programs that differ in names of their own, layout, comments, docstrings or annotations only. SyntaxError as ``parse``."""
    tree = parse(source)
    _Bare().visit(tree)
    own = _own_names(tree)
    _Renamed({name: f"n{i}" for i, name in enumerate(own)}).visit(tree)
    return hashlib.sha1(ast.unparse(ast.fix_missing_locations(tree)).encode(), usedforsecurity=False).hexdigest()


def _own_names(tree: ast.Module) -> list[str]:
    """Names that the program binds itself, imports aside, in the order in which they stand in the text."""
    found: dict[str, tuple[int, int]] = {}
    for node in ast.walk(tree):
        name = None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = node.name
        if name is not None and name not in KEPT and not name.startswith("__"):
            place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
            found[name] = min(found.get(name, place), place)
    return sorted(found, key=lambda n: found[n])


class _Bare(ast.NodeTransformer):
    """Without docstrings and annotations."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and isinstance(body, list):
            rest = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            node.body = rest or [ast.Pass()]
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        return super().generic_visit(node)


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.names.get(n, n) for n in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self.names.get(n, n) for n in node.names]
        return node
