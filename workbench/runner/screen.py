"""Action ``screen``: which of several program texts run in eager, and which of those agree to the last bit when compiled, one after the other
in one child. Whatever differs in anything is left for others to judge.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch._dynamo

from .child import executed
from .exercise import Execution
from .program import Invalid
from .protocol import Request
from .results import result

COMPARED = ("outcome", "python", "aliases", "probed", "rng", "modes")


def handle(request: Request) -> tuple[dict[str, Any], bytes]:
    """``outcomes``: for each of ``options["sources"]`` ``returned``, ``raised``, ``invalid``, or ``agrees`` where ``options["backend"]`` says
    how to compile and nothing observed differs; ``reasons``: the first line of what it raised.
    """
    outcomes, reasons = [], []
    backend = request.options.get("backend")
    for source in request.options["sources"]:
        eager = dataclasses.replace(request, source=source, backend=None)
        run = executed(eager)
        outcome = run.outcome
        if backend and outcome == "returned" and _agrees(run, eager, str(backend)):
            outcome = "agrees"
        error = run.error.cause or run.error if isinstance(run.error, Invalid) else run.error
        outcomes.append(outcome)
        reasons.append("" if error is None else f"{type(error).__name__}: {error}".splitlines()[0][:200])
    return {"outcomes": outcomes, "reasons": reasons}, b""


def _agrees(run: Execution, eager: Request, backend: str) -> bool:
    """Whether the compiled program does the same, bit for bit, in everything that is observed."""
    left = _told(run, eager)
    torch._dynamo.reset()  # sizes of earlier texts must not make this one dynamic
    compiled = dataclasses.replace(eager, backend=backend)
    return left == _told(executed(compiled), compiled)


def _told(run: Execution, request: Request) -> list[Any]:
    document, blobs = result(run, request)
    raised = document.get("exception")
    leaves = []
    for leaf in document.get("leaves", ()):
        start, size = leaf.get("blob") or (0, 0)
        leaves.append(({k: v for k, v in leaf.items() if k != "blob"}, bytes(blobs[start : start + size])))
    return [*(document.get(name) for name in COMPARED), raised and raised["class"], leaves]
