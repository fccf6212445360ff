"""Straight code: helpers and builders spliced in, aliases and single-use names inlined, dead code gone, short names. No meaning changed on
purpose; where order or identity matters the oracle says so.
"""

from __future__ import annotations

import ast

from reducers import inline
from reducers.deadcode import tidy
from reducers.makers import plain
from reducers.normal import renamed
from reducers.tree import apply, show

ROUNDS = 20


def straightened(tree: ast.Module) -> ast.Module:
    """The program after every edit that puts a definition where it is used, until there is none."""
    for _ in range(ROUNDS):
        before = show(tree)
        for edits in (inline.harness, inline.unpacked, inline.spliced, inline.helpers, inline.names, inline.returned_inside):
            for _ in range(ROUNDS):
                made = edits(tree)
                changed = apply(tree, made) if made else None
                if changed is None or show(changed) == show(tree):
                    break
                tree = changed
        tree = tidy(tree)
        if show(tree) == before:
            break
    return tree


def clean(tree: ast.Module) -> ast.Module:
    """``straightened`` under short names, inputs made in the plainest way."""
    return plain(renamed(straightened(tree)))
