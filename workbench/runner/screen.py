"""Action ``screen``: which of several program texts run in eager, one after the other in one child. Nothing is observed and nothing judged."""

from __future__ import annotations

import dataclasses
from typing import Any

from .child import executed
from .program import Invalid
from .protocol import Request


def handle(request: Request) -> tuple[dict[str, Any], bytes]:
    """``outcomes``: for each of ``options["sources"]`` ``returned``, ``raised`` or ``invalid``; ``reasons``: the first line of what it raised."""
    outcomes, reasons = [], []
    for source in request.options["sources"]:
        run = executed(dataclasses.replace(request, source=source, backend=None))
        error = run.error.cause or run.error if isinstance(run.error, Invalid) else run.error
        outcomes.append(run.outcome)
        reasons.append("" if error is None else f"{type(error).__name__}: {error}".splitlines()[0][:200])
    return {"outcomes": outcomes, "reasons": reasons}, b""
