"""A script's own checks, taken out of its way: the oracle compares, and a check that fails early would hide later calls."""

from __future__ import annotations

import ast
import contextlib
import functools
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import torch


def without(tree: ast.Module) -> ast.Module:
    """The tree with every ``assert`` only evaluating its condition, which may make compiled calls; lines unchanged."""
    return ast.fix_missing_locations(_Without().visit(tree))  # type: ignore[no-any-return]


class _Without(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Expr(node.test), node)


@contextlib.contextmanager
def told_only() -> Iterator[None]:
    """While entered, the assertion functions of torch, numpy and unittest return instead of raising AssertionError."""
    numpy = getattr(sys.modules.get("numpy"), "testing", None)
    places: list[tuple[Any, str]] = [(torch.testing, "assert_close")]
    places += [(numpy, n) for n in vars(numpy or object) if n.startswith("assert_") and callable(getattr(numpy, n))]
    places += [(unittest.TestCase, n) for n in vars(unittest.TestCase) if n.startswith("assert") and "Raises" not in n and "Warns" not in n]
    saved = [(owner, name, getattr(owner, name)) for owner, name in places]
    try:
        for owner, name, original in saved:
            setattr(owner, name, _quiet(original))
        yield
    finally:
        for owner, name, original in saved:
            setattr(owner, name, original)


def _quiet(original: Any) -> Any:
    @functools.wraps(original)
    def check(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except AssertionError:
            return None

    return check
