"""Refusals of the compiler that a program catches: loud for whoever calls the compiled function, though the program goes on.

With ``fullgraph`` Dynamo refuses what it would else leave to Python, and a compiler that breaks raises too. A program that turns exceptions
into values would make a difference in values of that.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from torch._dynamo import exc

LEAVES = "compile_wrapper"
"""torch's function around a compiled callable; what it passes on reaches the caller."""


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """Within it: what compiled callables refuse, ``Class: first line``, in order."""
    found: list[str] = []
    last: BaseException | None = None

    def note(error: BaseException) -> None:
        nonlocal last
        if last is not None and error.__cause__ is last:
            found.pop()  # torch cuts the causes of what it passes on first
        last = error
        line = (str(error).strip().splitlines() or [""])[0]
        found.append(f"{type(error).__name__}: {line}"[:300])

    def with_traceback(self: exc.TorchDynamoException, traceback: Any) -> Any:
        if sys._getframe(1).f_code.co_name == LEAVES or isinstance(self, exc.InternalTorchDynamoError):
            note(self)
        return RuntimeError.with_traceback(self, traceback)

    shorten = exc.ShortenTraceback.remove_dynamo_frames

    def remove_dynamo_frames(self: exc.ShortenTraceback) -> Any:
        if sys._getframe(1).f_code.co_name == LEAVES:
            note(self)
        return shorten(self)

    exc.TorchDynamoException.with_traceback = with_traceback  # type: ignore[method-assign, assignment]
    exc.ShortenTraceback.remove_dynamo_frames = remove_dynamo_frames  # type: ignore[method-assign]
    try:
        yield found
    finally:
        del exc.TorchDynamoException.with_traceback
        exc.ShortenTraceback.remove_dynamo_frames = shorten  # type: ignore[method-assign]
