"""Action ``nudge``: how far eager results move when inexact nodes are perturbed, over many seeds, each a new execution of the program."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from .exercise import Execution, execute
from .modes import Restore
from .nudge import Nudge
from .observe import Leaf, Recorder, undisturbed
from .program import Anew
from .protocol import Request
from .results import document_of, sections

ROOM = 4_000_000
"""Bytes of descriptions that one request may give back."""


class Bounds:
    """Elementwise smallest and largest of one leaf, NaN left out, and where some seed gave NaN."""

    def __init__(self, leaf: Leaf, values: torch.Tensor) -> None:
        self.entry = {k: v for k, v in leaf.entry.items() if k not in ("blob", "same")}
        self.low = torch.full_like(values, float("inf"))
        self.high = torch.full_like(values, float("-inf"))
        self.nan = torch.zeros(values.shape, dtype=torch.bool)
        self.add(values)

    def add(self, values: torch.Tensor) -> None:
        """Take one more seed's values in."""
        self.low = torch.fmin(self.low, values)
        self.high = torch.fmax(self.high, values)
        self.nan |= values.isnan()


class Variants:
    """What the seeds made of Python values and shapes, each different one once."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self._room = ROOM

    def add(self, python: dict[str, Any], shapes: dict[str, list[int]]) -> None:
        """Take one more seed in, as long as there is room."""
        variant = {"python": python, "shapes": shapes}
        text = json.dumps(variant, sort_keys=True)
        if text not in self.found and len(text) <= self._room:
            self._room -= len(text)
            self.found[text] = variant


def nudged(request: Request) -> tuple[dict[str, Any], bytes]:
    """Bounds of every leaf over ``request.seeds``; a seed that does not return, or returns leaves of other shape, is counted and left out.

    ``facts["nudge"]["seeds"]``: how many of them, from the first, ran before a third of the time limit was over
    """
    plan = request.options.get("plan") or []
    found: dict[str, Bounds] = {}
    counts: Counter[str] = Counter(returned=0, failed=0, structure=0)
    variants = Variants()
    last = Execution()
    time_left = patience(request)
    for seed in request.seeds:
        if not time_left():
            break
        counts["seeds"] += 1
        mode = Nudge(seed, plan)
        with Restore(), Anew(request.folder):
            last = execute(request, request.leaf, mode)
            _take(last, request, found, counts, variants)
        counts.update({f"nodes {k}": v for k, v in mode.counts.items() if k != "nodes"})
    if counts["returned"]:
        last.error = None
    document = document_of(last, request)
    document["facts"].update(nudge=dict(counts), variants=list(variants.found.values()))
    recorder = Recorder()
    for bounds in found.values():
        places = {name: recorder.blob(getattr(bounds, name)) for name in ("low", "high", "nan")}
        document["leaves"].append({**bounds.entry, **places})
    return document, bytes(recorder.blobs)


def _take(execution: Execution, request: Request, found: dict[str, Bounds], counts: Counter[str], variants: Variants) -> None:
    if execution.outcome != "returned":
        counts["failed"] += 1
        return
    recorder = Recorder(keep_bytes=False, known=execution.known)
    with undisturbed():
        sections(recorder, execution, request)
        leaves = {leaf.path: (leaf, wide(leaf.plain)) for leaf in recorder.leaves if leaf.plain is not None and wanted(leaf, request)}
    variants.add(recorder.python, {leaf.path: list(leaf.entry["shape"]) for leaf in recorder.leaves})
    if found and {p: b.low.shape for p, b in found.items()} != {p: v.shape for p, (_, v) in leaves.items()}:
        counts["structure"] += 1
        return
    counts["returned"] += 1
    for path, (leaf, values) in leaves.items():
        if path in found:
            found[path].add(values)
        else:
            found[path] = Bounds(leaf, values)


def wanted(leaf: Leaf, request: Request) -> bool:
    """Whether bounds are kept: not of what no run changes, nor of more elements than ``options["most"]``."""
    most = request.options.get("most")
    return not leaf.untouched and leaf.plain is not None and (most is None or leaf.plain.numel() * (1 + leaf.plain.is_complex()) <= most)


def patience(request: Request) -> Callable[[], bool]:
    """Whether another seed may begin: the first always, later ones in the first third of the time limit. The rest is asked for again."""
    began = time.monotonic()
    asked = 0

    def left() -> bool:
        nonlocal asked
        asked += 1
        return asked == 1 or time.monotonic() - began < request.limits.seconds / 3

    return left


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Elements as float64 in host memory, real and imaginary parts in a last axis of 2."""
    dense = tensor.detach().resolve_conj().resolve_neg().cpu()
    if dense.is_complex():
        dense = torch.view_as_real(dense.to(torch.complex128))
    return dense.to(torch.float64).contiguous()
