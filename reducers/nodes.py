"""Looking at and copying nodes of a tree: what ``ast`` and ``copy`` do too, in half the time or less. A pass looks at millions of nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=ast.AST)


def children(node: ast.AST) -> list[ast.AST]:
    """As ``ast.iter_child_nodes``."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """As ``ast.walk``: every node, level by level."""
    level = [tree]
    while level:
        below: list[ast.AST] = []
        for node in level:
            below += children(node)
            yield node
        level = below


def preorder(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes, parents first, in source order; the order of their numbers."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def copied(tree: N) -> N:
    """As ``copy.deepcopy``; contexts (``ast.Load`` ...) stay shared, other nodes are nobody else's."""
    if isinstance(tree, ast.expr_context):
        return tree
    made = type(tree).__new__(type(tree))
    for name, value in vars(tree).items():
        if isinstance(value, ast.AST):
            value = copied(value)
        elif isinstance(value, list):
            value = [copied(item) if isinstance(item, ast.AST) else item for item in value]
        setattr(made, name, value)
    return made


def all_copied(trees: Iterable[N]) -> list[N]:
    """A copy of each."""
    return [copied(tree) for tree in trees]
