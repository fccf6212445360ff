"""Result documents: what an execution left behind, observed in the order that ``protocol`` writes down."""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Callable
from typing import Any

import torch

from . import aliases, faults, modes, probe
from . import globals as program_globals
from .exercise import Execution
from .frames import compiled_frames
from .observe import Recorder, undisturbed
from .program import Invalid
from .protocol import Request


def result(execution: Execution, request: Request, add: Callable[[Recorder], None] | None = None) -> tuple[dict[str, Any], bytes]:
    """The result document of an execution and its blobs; ``add`` may add to the leaves before the probe writes into them."""
    start = time.perf_counter()
    document = document_of(execution, request)
    if execution.outcome == "invalid" or execution.program is None:
        return document, b""
    document["rng"] = modes.generators()
    document["modes"] = modes.modes()
    recorder = Recorder(known=execution.known)
    with undisturbed():
        sections(recorder, execution, request)
        if add is not None:
            add(recorder)
        document["leaves"] = [leaf.entry for leaf in recorder.leaves]
        document["python"] = recorder.python
        observed = [leaf for leaf in recorder.leaves if not leaf.path.startswith("gradients")]
        document["aliases"] = aliases.overlapping(observed)
        document["probed"] = probe.probe(observed)
    document["timings"]["observe"] = round(time.perf_counter() - start, 6)
    return document, bytes(recorder.blobs)


def sections(recorder: Recorder, execution: Execution, request: Request) -> None:
    """Record return, inputs, parameters, buffers, globals and gradients."""
    assert execution.program is not None
    if execution.outcome == "returned" or execution.where == "backward":
        recorder.section("return", execution.result)
    recorder.section("inputs", execution.inputs)
    owners = list(execution.leaves)
    for kind, name, tensor in program_globals.tensors_of(execution.program):
        recorder.leaf(tensor, f"{kind}.{name}")
        owners.append((name, tensor))
    recorder.section("globals", program_globals.state_of(execution.program))
    _gradients(recorder, owners, wanted=bool(request.configuration.get("grad")))


def _gradients(recorder: Recorder, owners: list[tuple[str, torch.Tensor]], *, wanted: bool) -> None:
    known = {id(tensor) for _, tensor in owners}
    for leaf in list(recorder.leaves):
        if leaf.path.startswith(("globals", "inputs")) and id(leaf.tensor) not in known:
            owners.append((leaf.path, leaf.tensor))
            known.add(id(leaf.tensor))
    found: dict[str, Any] = {}
    for path, tensor in owners:
        with contextlib.suppress(Exception):
            if not (tensor.is_leaf or tensor.retains_grad):
                continue
            gradient = tensor.grad
            if gradient is not None:
                found[path] = recorder.leaf(gradient, f"gradients.{path}")
            elif wanted and tensor.requires_grad:
                found[path] = None
    recorder.python["gradients"] = found


def document_of(execution: Execution, request: Request) -> dict[str, Any]:
    """How it went, and nothing observed yet."""
    error = execution.error
    where = execution.where
    exception = None
    if isinstance(error, Invalid):
        where = error.where
        exception = _invalid(error, request.filename)
    elif error is not None:
        exception = faults.describe(error, request.filename)
    return {
        "outcome": execution.outcome,
        "where": where,
        "exception": exception,
        "leaves": [],
        "python": {},
        "aliases": [],
        "probed": [],
        "rng": {},
        "modes": {},
        "facts": facts(execution, request),
        "warnings": {},
        "timings": dict(execution.timings),
    }


def _invalid(error: Invalid, filename: str) -> dict[str, Any]:
    if error.cause is None:
        return {"class": error.name or "InvalidProgram", "wrapped": None, "message": str(error), "line": error.line, "traceback": ""}
    described = faults.describe(error.cause, filename)
    described["line"] = error.line or described["line"]
    described["message"] = f"{error}: {described['message']}" if described["message"] else str(error)
    return described


def facts(execution: Execution, request: Request) -> dict[str, Any]:
    """What the run did besides its results."""
    found: dict[str, Any] = {"leaf": execution.leaf, "asks_if_compiled": asks_if_compiled(request.source)}
    if request.backend is not None:
        from torch._dynamo.utils import counters

        found["compiled_frames"] = int(counters["frames"]["ok"])
        found["graphs"] = int(counters["stats"]["unique_graphs"])
        found["frames"] = compiled_frames() if found["graphs"] > 1 else []
        found["graph_breaks"] = sum(counters["graph_break"].values())
        small = {name: {k: int(v) for k, v in counters[name].most_common(30)} for name in ("inductor", "aot_autograd", "frames", "stats")}
        found["refused"] = execution.refused[:3]
        found["counters"] = {name: group for name, group in small.items() if group}
    return found


QUESTIONS = frozenset({"is_compiling", "is_dynamo_compiling", "is_exporting"})


def asks_if_compiled(source: str) -> bool:
    """Whether the program's text asks if it is being compiled; then eager and compiled may differ by its own will."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in QUESTIONS:
            return True
        if isinstance(node, ast.ImportFrom) and any(alias.name in QUESTIONS for alias in node.names):
            return True
    return False
