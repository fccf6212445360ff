"""Which frames Dynamo compiled into graphs: what names the guilty graph when there are several."""

from __future__ import annotations

from typing import Any

MOST_FRAMES = 64
"""As many as torch itself keeps metrics of."""


def forget_frames() -> None:
    """Drop what was compiled until now, so that only a program's own frames are told later."""
    try:
        from torch._dynamo.utils import clear_compilation_metrics
    except ImportError:
        return
    clear_compilation_metrics()


def compiled_frames() -> list[dict[str, Any]]:
    """Frames with a graph that computes something, in the order of their ids: ``{"id": int, "name": str, "line": int}``.

    From ``torch._dynamo.utils.get_compilation_metrics``; the id is what ``TORCH_COMPILE_OVERRIDE_BACKENDS`` filters by, so a frame that was
    compiled again for other shapes is told once. Empty on a torch without those metrics.
    """
    try:
        from torch._dynamo.utils import get_compilation_metrics

        metrics = get_compilation_metrics()
    except ImportError:
        return []
    found: dict[int, dict[str, Any]] = {}
    for one in metrics:
        name, operations = getattr(one, "co_name", None), getattr(one, "graph_op_count", None)
        identity = str(getattr(one, "compile_id", None) or "").rpartition("!")[2].partition("/")[0]
        if name and operations and identity.isdecimal():
            found.setdefault(int(identity), {"id": int(identity), "name": str(name), "line": int(one.co_firstlineno or 0)})
    return sorted(found.values(), key=lambda frame: frame["id"])[:MOST_FRAMES]
