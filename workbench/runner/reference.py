"""Action ``shadow``: one eager run with a float64 image beside every float tensor, and the warnings that its real operands gave."""

from __future__ import annotations

from typing import Any

import torch

from .exercise import execute
from .observe import Recorder
from .protocol import Request
from .results import result
from .shadow import Shadow


def shadowed(request: Request) -> tuple[dict[str, Any], bytes]:
    """The document of an eager run, its leaves with ``shadow``, ``exact`` and ``keys``; ``facts`` with the plan for nudge runs."""
    mode = Shadow()
    execution = execute(request, request.leaf, mode)
    document, blobs = result(execution, request, lambda recorder: add_images(recorder, mode))
    document["facts"].update(mode.facts, plan=mode.plan)
    document["warnings"] = mode.warnings
    return document, blobs


def add_images(recorder: Recorder, mode: Shadow) -> None:
    """Give the recorder's leaves their images, exactness and keys."""
    keys_of = getattr(mode, "keys", None)
    for leaf in recorder.leaves:
        if leaf.plain is None or leaf.untouched:
            continue
        try:
            if leaf.plain.is_floating_point() or leaf.plain.is_complex():
                image = mode.image(leaf.tensor)
                if image is not None:
                    leaf.entry["shadow"] = recorder.blob(image)
            elif keys_of is not None and (keys := keys_of(leaf.tensor)) is not None:
                leaf.entry["keys"] = _keys(recorder, *keys)
            leaf.entry["exact"] = mode.exact(leaf.tensor)
        except Exception as error:  # a leaf without image is judged without
            leaf.entry["unimaged"] = f"{type(error).__name__}: {error}"[:300]


def _keys(recorder: Recorder, values: torch.Tensor, dim: int | None) -> dict[str, Any]:
    dtype = str(values.dtype if values.is_floating_point() else torch.float64).removeprefix("torch.")
    return {"blob": recorder.blob(values.to(torch.float64)), "shape": list(values.shape), "dim": dim, "dtype": dtype}
