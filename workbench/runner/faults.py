"""Exceptions as the host sees them: Dynamo's wrappers removed, the line in the program file found, text bounded."""

from __future__ import annotations

import builtins
import os
import traceback
from types import TracebackType
from typing import Any

MESSAGE_LIMIT = 8000
TRACEBACK_LIMIT = 16000

WRAPPERS = frozenset(
    {
        "TorchRuntimeError",
        "InternalTorchDynamoError",
        "Unsupported",
        "BackendCompilerFailed",
        "InductorError",
        "LoweringException",
        "SubgraphLoweringException",
        "UserError",
        "UncapturedHigherOrderOpError",
    }
)
"""Classes of the compiler that stand for another exception: the one inside is what the program did."""


def describe(error: BaseException, filename: str) -> dict[str, Any]:
    """The ``exception`` object of a result document."""
    inner = unwrap(error)
    name = class_name(inner)
    wrapped = None if inner is error else class_name(error)
    return {
        "class": observed_name(name),
        "wrapped": wrapped,
        "message": text_of(error)[:MESSAGE_LIMIT],
        "line": line_in(error, filename) or line_in(inner, filename),
        "traceback": _traceback(error),
    }


def unwrap(error: BaseException) -> BaseException:
    """The exception inside the compiler's wrapping ones; ``error`` itself when nothing is inside."""
    seen: set[int] = set()
    current = error
    while id(current) not in seen and _is_wrapper(current):
        seen.add(id(current))
        inner = _inside(current)
        if inner is None:
            break
        current = inner
    return current


def _is_wrapper(error: BaseException) -> bool:
    kind = type(error)
    return kind.__name__ in WRAPPERS and kind.__module__.startswith(("torch._dynamo", "torch._inductor", "torch._functorch"))


def _inside(error: BaseException) -> BaseException | None:
    for candidate in (getattr(error, "inner_exception", None), error.__cause__):
        if isinstance(candidate, BaseException):
            return candidate
    around = error.__context__
    if type(error).__name__ == "Unsupported" and not _is_observed(around):
        return None  # what Dynamo was handling when it gave up is its own affair, unless the program raised it
    return around


def class_name(error: BaseException) -> str:
    """Qualified class name, bare for builtins and for classes of the program itself."""
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__", "__workbench_program__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_observed(error: BaseException | None) -> bool:
    return type(error).__name__.startswith("Observed")


def observed_name(name: str) -> str:
    """``IndexError`` for Dynamo's ObservedIndexError, ``Mine`` for its ObservedMineError."""
    prefix = "torch._dynamo.exc.Observed"
    if not name.startswith(prefix) or name == prefix + "Exception":
        return name
    bare = name.removeprefix(prefix).removeprefix("User")
    return bare if hasattr(builtins, bare) else bare.removesuffix("Error")


def text_of(error: BaseException) -> str:
    """``str(error)``, or why there is none."""
    try:
        return str(error)
    except Exception as failure:
        return f"<no message: {type(failure).__name__}>"


def line_in(error: BaseException, filename: str) -> int | None:
    """The innermost line of the program file that the exception passed through."""
    stack = getattr(error, "real_stack", None)  # where Dynamo was in the user's code; its own traceback ends at the call
    frames = list(stack) if isinstance(stack, traceback.StackSummary) else []
    lines = [f.lineno for f in frames if f.filename == filename]
    if not lines:
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    if not lines and isinstance(error, SyntaxError) and error.filename == filename:
        lines = [error.lineno]
    return lines[-1] if lines else None


def _outside(frames: TracebackType | None) -> TracebackType | None:
    """The traceback without the runner's own frames at its start."""
    own = os.path.dirname(__file__)
    found = frames
    while found is not None and os.path.dirname(found.tb_frame.f_code.co_filename) == own:
        found = found.tb_next
    return found or frames


def _traceback(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception(type(error), error, _outside(error.__traceback__), chain=False))
    except Exception as failure:
        return f"<no traceback: {type(failure).__name__}>"
    return text if len(text) <= TRACEBACK_LIMIT else text[: TRACEBACK_LIMIT // 4] + "\n[...]\n" + text[-TRACEBACK_LIMIT * 3 // 4 :]
