"""What can be told of a program from its text alone: how many statements a person has to read, and which ops it calls. Runs nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from store.syntax import parse

ROOTS = ("fn", "Model", "drive")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def count_statements(source: str) -> int:
    """Statements in ``fn``, ``Model``, ``drive`` and in what they call, docstrings aside; of a script without those, all but imports.

    A text that does not parse counts its lines.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return sum(1 for line in source.splitlines() if line.strip())
    reached = _reached(tree)
    if not reached:
        return sum(1 for node in _statements(tree) if not isinstance(node, ast.Import | ast.ImportFrom))
    return sum(1 for root in reached for node in _statements(root) if not isinstance(node, ast.ClassDef))


def ops_of(skeleton: Sequence[str]) -> tuple[str, ...]:
    """Plain op names of a signature's skeleton, in order, each once: ``in:uint8 t~ add! +call:2`` has ``t add``."""
    names: dict[str, None] = {}
    for item in skeleton:
        match = re.match(r"[A-Za-z_][\w.]*", item)
        if match is not None and not item.startswith("in:"):
            parts = match[0].split(".")
            name = parts[1] if parts[0] == "aten" and len(parts) > 1 else parts[-1]
            names.setdefault(name.rstrip("_") or name)
    return tuple(names)


def _reached(tree: ast.Module) -> list[ast.stmt]:
    """The roots and every top-level function, class or assignment that they name, directly or not."""
    named: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, (*_FUNCTION, ast.ClassDef)):
            named[node.name] = node
        elif isinstance(node, ast.Assign):
            named.update({t.id: node for t in node.targets if isinstance(t, ast.Name) and t.id == "fn"})
    waiting = [name for name in ROOTS if name in named]
    found: dict[str, ast.stmt] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = named[name]
            waiting += [n.id for n in ast.walk(named[name]) if isinstance(n, ast.Name) and n.id in named]
    return list({id(node): node for node in found.values()}.values())


def _statements(root: ast.AST) -> Iterator[ast.stmt]:
    """Statements below a node, the node's own ``def`` or ``class`` line and docstrings aside."""
    if isinstance(root, ast.Assign):
        yield root
        return
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(root, block, ()):
            if isinstance(node, ast.stmt) and not _is_docstring(node):
                yield node
            if not isinstance(node, ast.Assign):
                yield from _statements(node)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
