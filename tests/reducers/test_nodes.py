"""The quick ways to look at a tree give what the standard library gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from reducers import nodes
from store.syntax import parse

SOURCES = sorted(Path(nodes.__file__).parent.glob("*.py"))


@pytest.fixture(params=SOURCES, ids=lambda path: path.stem)
def tree(request: pytest.FixtureRequest) -> ast.Module:
    return parse(request.param.read_text())


def depth_first(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from depth_first(child)


def test_the_same_nodes_in_the_same_order(tree: ast.Module):
    assert [id(n) for n in nodes.walk(tree)] == [id(n) for n in ast.walk(tree)]
    assert [id(n) for n in nodes.preorder(tree)] == [id(n) for n in depth_first(tree)]
    assert all(nodes.children(n) == list(ast.iter_child_nodes(n)) for n in ast.walk(tree))


def test_a_copy_is_equal_and_shares_contexts_only(tree: ast.Module):
    copy = nodes.copied(tree)
    assert ast.dump(copy, include_attributes=True) == ast.dump(tree, include_attributes=True)
    shared = {id(n) for n in ast.walk(copy)} & {id(n) for n in ast.walk(tree)}
    assert all(isinstance(n, ast.expr_context) for n in ast.walk(tree) if id(n) in shared)
