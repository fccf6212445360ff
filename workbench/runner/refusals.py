"""Refusals of the compiler that a program catches: loud for whoever calls the compiled function, though the program goes on.

With ``fullgraph`` Dynamo refuses what it would else leave to Python, and a compiler that breaks raises too. A ``drive`` that turns exceptions
into values would make a difference in values of that.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import faults

COMPILER = ("torch._dynamo", "torch._inductor", "torch._functorch")
"""Packages whose exceptions are the compiler's own."""


@contextlib.contextmanager
def watched(function: Callable[..., Any], filename: str) -> Iterator[tuple[Callable[..., Any], list[dict[str, Any]]]]:
    """A compiled callable to hand to a program instead of ``function``, and what the compiler refuses in its calls, as ``faults.describe``."""
    refused: list[dict[str, Any]] = []

    def noting(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def noted(*arguments: Any, **named: Any) -> Any:
            try:
                return call(*arguments, **named)
            except Exception as error:
                if type(error).__module__.startswith(COMPILER):
                    refused.append(faults.describe(error, filename))
                raise

        return noted

    if not isinstance(function, torch.nn.Module):
        yield noting(function), refused
        return
    # a program may look at a module, so it gets the very one; Python looks for ``__call__`` in its class
    owner: Any = type(function)
    own = vars(owner).get("__call__")
    owner.__call__ = noting(owner.__call__)
    try:
        yield function, refused
    finally:
        if own is None:
            del owner.__call__
        else:
            owner.__call__ = own
