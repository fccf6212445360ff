"""What a runner child does with a request: one entry, ``handle``, for every action. The document is the one commented in ``protocol``."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
from collections.abc import Callable
from typing import Any

from . import bisect, configuration, environment, faults, gradients, script
from .exercise import Execution, execute
from .modes import Restore
from .program import Anew, Invalid
from .protocol import ACTIONS, Request
from .results import result

M_PERTURB = -6


def handle(request: Request) -> tuple[dict[str, Any], bytes]:
    """Do what ``request`` asks; the result document and the bytes its leaves point into."""
    if request.action not in ACTIONS:
        raise ValueError(f"unknown action {request.action!r}")
    if request.action == "environment":
        return environment.describe(), b""
    poison = _poison(request.poison)
    document, blobs = ANSWERS.get(request.action, run)(request)
    if "facts" in document:
        document["facts"]["poison"] = poison
    return document, blobs


def _eager(module: str, function: str) -> Callable[[Request], tuple[dict[str, Any], bytes]]:
    """An action on the eager program, in a module that is imported only when it is asked for."""

    def answer(request: Request) -> tuple[dict[str, Any], bytes]:
        try:
            configuration.apply(request)
        except Invalid as error:
            return result(Execution(error=error), request)
        found = script.answer(request) or getattr(importlib.import_module(f".{module}", __package__), function)(request)
        return found if isinstance(found, tuple) else (found, b"")

    return answer


ANSWERS = {
    "shadow": _eager("reference", "shadowed"),
    "nudge": _eager("bounds", "nudged"),
    "trace": _eager("trace", "trace"),
    "capture": _eager("capture", "handle"),
    "screen": _eager("screen", "handle"),
}
"""How the actions other than ``run`` are answered."""


def run(request: Request) -> tuple[dict[str, Any], bytes]:
    """Execute and observe once, eager or compiled."""
    try:
        configuration.apply(request)
        switches = bisect.switches(request.bisect)
        found = script.answer(request)
        document, blobs = found if found is not None else result(executed(request), request)
    except Invalid as error:
        (document, blobs), switches = result(Execution(error=error), request), None
    if switches is not None:
        document["facts"]["bisect"] = switches.facts()
    return document, blobs


def executed(request: Request) -> Execution:
    """One execution whose changes to the process are undone, and again on clones where eager refuses to write into a leaf."""
    with contextlib.ExitStack() as undo:
        undo.enter_context(Restore())
        undo.enter_context(Anew(request.folder))
        execution = execute(request, request.leaf)
        if not _writes_into_leaf(execution, request):
            undo.pop_all()
            return execution
    return execute(request, "clone")


def _writes_into_leaf(execution: Execution, request: Request) -> bool:
    """Eager refuses an in-place write only because the grad rule made that input a leaf: then it gets a clone (DESIGN §2)."""
    if request.backend is not None or execution.leaf != "leaf" or not request.configuration.get("grad"):
        return False
    return execution.outcome == "raised" and any(text in faults.text_of(execution.error) for text in gradients.IN_PLACE_ON_LEAF)  # type: ignore[arg-type]


def _poison(byte: int | None) -> str:
    """Fill fresh memory with a byte through glibc; what did it: ``glibc`` or ``none``."""
    if byte is None:
        return "off"
    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018 - only glibc has it, and only glibc perturbs
        return "glibc" if libc.mallopt(M_PERTURB, byte) == 1 else "none"
    except (OSError, AttributeError):
        return "none"
