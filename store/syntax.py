"""Parsing Python text, safe from several threads at once, which ``ast.parse`` of CPython 3.11 is not.

It counts its recursion depth for the whole interpreter and raises SystemError when another thread parsed meanwhile.
"""

from __future__ import annotations

import ast
import threading
import time

PARSING = threading.Lock()
TRIES = 20


def parse(source: str) -> ast.Module:
    """The tree of a module; SyntaxError as from ``ast.parse``."""
    for attempt in range(TRIES):
        try:
            with PARSING:
                return ast.parse(source)
        except SystemError:  # a thread of some library parsed without the lock
            if attempt == TRIES - 1:
                raise
            time.sleep(0.001 * attempt)
    raise AssertionError


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression; SyntaxError when the text is anything else."""
    body = parse(f"({source}\n)").body
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise SyntaxError("not one expression")
    return body[0].value
