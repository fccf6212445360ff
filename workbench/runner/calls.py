"""The record of a script's compiled calls: one result document each, in the shape that ``protocol`` writes down.

Tensors are copied for the record only; the script keeps its own (clones would lose marks such as ``mark_dynamic``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from . import aliases, faults, modes, probe, touched
from . import globals as program_globals
from .gradients import tensors_in
from .observe import Recorder, digests, raw_bytes, undisturbed
from .program import Program

MOST_CALLS = 300
MOST_BYTES = 600 * 2**20
"""What one script may have recorded; calls beyond are made, counted and not judged."""

Look = Callable[[Recorder, int], None]
"""What else to note of leaves just recorded, and of which call (from 1): images, or values for bounds. They are alive and unchanged then."""


class Phases(Recorder):
    """A recorder for several moments of one call: no tensor outlives its moment, equal bytes are kept once for the whole script."""

    def __init__(self, places: dict[bytes, list[int]], blobs: bytearray, known: dict[int, str], *, keep_bytes: bool) -> None:
        super().__init__(keep_bytes=keep_bytes)
        self.known = known
        self.blobs = blobs
        self.entries: list[dict[str, Any]] = []
        self._facts: dict[str, dict[str, Any]] = {}
        self._shared = places

    def blob(self, tensor: torch.Tensor) -> list[int]:
        """Like the base's, once for equal bytes."""
        data = raw_bytes(tensor)
        key = hashlib.sha256(data).digest()
        if key not in self._shared:
            self._shared[key] = [len(self.blobs), len(data)]
            self.blobs += data
        return self._shared[key]

    def close(self) -> None:
        """End of a moment."""
        for leaf in self.leaves:
            if leaf.untouched and (place := self._shared.get(bytes.fromhex(leaf.entry["digest"]))):
                leaf.entry["blob"] = place
            if self.keep_bytes:
                self._link(leaf.entry)
        self.entries += [leaf.entry for leaf in self.leaves]
        self.leaves.clear()
        self._first.clear()
        self._places.clear()

    def _link(self, entry: dict[str, Any]) -> None:
        """A tensor that is as it was at the moment before says so: a difference is told where it first shows."""
        path = str(entry["path"])
        earlier = path.removeprefix("after.") if path.startswith("after.") else f"before.{path}"
        facts = {k: v for k, v in entry.items() if k not in ("path", "same")}
        if self._facts.get(earlier) == facts:
            entry.setdefault("same", earlier)
        self._facts[path] = facts


@dataclass(slots=True)
class Call:
    """One outermost compiled call.

    owners: tensors whose gradients are looked at, by name
    held:   what it was called with and returned, until the next call begins
    """

    recorder: Phases
    document: dict[str, Any]
    scope: Program
    inputs: list[Any]
    result: Any = None
    owners: dict[str, torch.Tensor] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    stale: dict[str, tuple[int, int]] = field(default_factory=dict)
    backwards: int = 0
    grads: int = 0


def _kept(method: Any) -> Any:
    """A failure of the record is no event of the script: it goes on, and the run then has no result."""

    @functools.wraps(method)
    def guarded(self: Recording, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            self.failure = self.failure or error
            return None

    return guarded


class Recording:
    """Hears an ``Interceptor`` and records. ``finish`` after the script has ended.

    failure: what went wrong in recording; then the calls are no record
    wake: called when the first call is about to be made, its inputs recorded
    """

    def __init__(self, module: Any, filename: str, look: Look | None = None, *, keep_bytes: bool = True) -> None:
        self._module = module
        self._filename = filename
        self._look = look or (lambda recorder, number: None)
        self._keep_bytes = keep_bytes
        self._known: dict[int, str] = {}
        self._places: dict[bytes, list[int]] = {}
        self.blobs = bytearray()
        self.calls: list[Call] = []
        self.dropped = 0
        self.failure: Exception | None = None
        self.wake: Callable[[], None] = lambda: None

    @_kept
    def begin(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], how: Mapping[str, Any]) -> Call | None:
        """Record what the call is made with."""
        self._settle()
        if len(self.calls) >= MOST_CALLS or len(self.blobs) > MOST_BYTES:
            self.dropped += 1
            return None
        scope = touched.scope(function, args, kwargs, self._module)
        inputs = [*args, kwargs] if kwargs else [*args]
        call = Call(
            Phases(self._places, self.blobs, self._known, keep_bytes=self._keep_bytes),
            self._document(function, how),
            scope,
            inputs,
        )
        first = not self.calls
        self.calls.append(call)
        with undisturbed():
            state = program_globals.tensors_of(scope)
            if first:  # no compiled call has run: what is large is as on the other side
                self._known.update(digests([t for _, t in tensors_in(inputs, "inputs")] + [t for *_, t in state]))
            self._state(call, "before.")
            self._known.update((id(leaf.tensor), leaf.entry["digest"]) for leaf in call.recorder.leaves if "digest" in leaf.entry)
            call.before = {name: _told(call.recorder.python.pop(f"before.{name}"), "before.") for name in ("inputs", "globals")}
            call.owners = dict(tensors_in(inputs, "inputs")) | {name: t for _, name, t in state}
            call.stale = {name: _version(t) for name, t in call.owners.items()}
            self._close(call)
        self.wake()
        return call

    @_kept
    def returned(self, call: Call | None, result: Any) -> None:
        """Record what the call returned and left behind."""
        if call is not None:
            call.result = result
            self._after(call)

    @_kept
    def raised(self, call: Call | None, error: BaseException) -> None:
        """Record what the call raised and left behind."""
        if call is not None:
            call.document.update(outcome="raised", exception=faults.describe(error, self._filename))
            self._after(call)

    @_kept
    def backward(self) -> None:
        """Gradients of the last call's tensors, and of those that the script's own frames name."""
        if not self.calls:
            return
        call = self.calls[-1]
        names = call.owners | self._named({id(t) for t in call.owners.values()})
        suffix = f"#{call.backwards}" if call.backwards else ""
        call.backwards += 1
        with undisturbed():
            for name, tensor in names.items():
                self._gradient(call, name, tensor, f"gradients.{name}{suffix}")
            self._close(call)

    @_kept
    def gradients(self, found: Any) -> None:
        """What ``torch.autograd.grad`` gave the script after the last call."""
        if not self.calls:
            return
        call = self.calls[-1]
        with undisturbed():
            call.recorder.section(f"gradients.grad{call.grads}", found)
            call.recorder.python.pop(f"gradients.grad{call.grads}")
            self._close(call)
        call.grads += 1

    def finish(self) -> list[dict[str, Any]]:
        """The documents of all calls; raises what went wrong in recording."""
        self._settle()
        if self.failure is not None:
            raise self.failure
        return [{**call.document, "leaves": call.recorder.entries, "python": call.recorder.python} for call in self.calls]

    def _document(self, function: Callable[..., Any], how: Mapping[str, Any]) -> dict[str, Any]:
        told = {"name": getattr(function, "__qualname__", type(function).__qualname__), "line": self._line(), **how}
        owner = getattr(function, "__self__", None)
        for module in (owner, function):
            if issubclass(type(module), torch.nn.Module):
                told["name"] = type(module).__qualname__
        if issubclass(type(function), types.BuiltinFunctionType):
            told["name"] = function.__name__
        return {"outcome": "returned", "where": "call", "exception": None, "facts": {"call": told}}

    def _after(self, call: Call) -> None:
        document, recorder = call.document, call.recorder
        document["modes"] = modes.modes()
        with undisturbed():
            document["rng"] = modes.generators()
            if document["outcome"] == "returned":
                recorder.section("return", call.result)
            self._state(call, "")
            for name, before in call.before.items():
                if _told(recorder.python[name], "") == before:  # numbers that came from earlier results may differ by rounding
                    recorder.python[name] = {"unchanged": True}
            recorder.python["gradients"] = {}
            for name, tensor in call.owners.items():
                if _version(tensor) != call.stale[name]:
                    self._gradient(call, name, tensor, f"gradients.in_call.{name}")
            observed = [leaf for leaf in recorder.leaves if not leaf.path.startswith("gradients")]
            document["aliases"] = aliases.overlapping(observed)
            self._look(recorder, len(self.calls))
            document["probed"] = probe.probe(observed)
            recorder.close()

    def _state(self, call: Call, prefix: str) -> None:
        """Inputs, parameters, buffers and touched globals as they are now."""
        call.recorder.section(f"{prefix}inputs", call.inputs)
        for kind, name, tensor in program_globals.tensors_of(call.scope):
            call.recorder.leaf(tensor, f"{prefix}{kind}.{name}")
        call.recorder.section(f"{prefix}globals", program_globals.state_of(call.scope))

    def _settle(self) -> None:
        """What became of the last call's tensors until now; then they are let go."""
        if not self.calls or self.calls[-1].scope is _GONE:
            return
        call = self.calls[-1]
        with undisturbed(), contextlib.suppress(RuntimeError):  # a result may be gone by design (CUDA graphs)
            if call.document["outcome"] == "returned":
                call.recorder.section("after.return", call.result)
            self._state(call, "after.")
            for name in ("return", "inputs", "globals"):
                call.recorder.python.pop(f"after.{name}", None)
            self._close(call)
        call.result, call.inputs, call.owners, call.scope = None, [], {}, _GONE

    def _close(self, call: Call) -> None:
        self._look(call.recorder, len(self.calls))
        call.recorder.close()

    def _gradient(self, call: Call, name: str, tensor: torch.Tensor, path: str) -> None:
        with contextlib.suppress(RuntimeError):
            if (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None:
                call.recorder.python["gradients"][path] = call.recorder.leaf(tensor.grad, path)

    def _named(self, known: set[int]) -> dict[str, torch.Tensor]:
        """Tensors and modules' parameters in variables of the script's frames, outermost last, by name."""
        found: dict[str, torch.Tensor] = {}
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename == self._filename:
                for name, value in list(frame.f_locals.items()):
                    pairs = [(name, value)]
                    if issubclass(type(value), torch.nn.Module):
                        pairs = [(f"{name}.{n}", p) for n, p in value.named_parameters()]
                    for full, tensor in pairs:
                        if issubclass(type(tensor), torch.Tensor) and id(tensor) not in known:
                            known.add(id(tensor))
                            found[full] = tensor
            frame = frame.f_back  # type: ignore[assignment]
        return found

    def _line(self) -> int | None:
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename == self._filename:
                return frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]
        return None


_GONE = Program(sys.modules[__name__], lambda: None, None)
"""Stands in a call whose tensors have been let go."""


def _told(description: Any, prefix: str) -> str:
    text = json.dumps(description)
    return text.replace(f'"tensor": "{prefix}', '"tensor": "') if prefix else text


def _version(tensor: torch.Tensor) -> tuple[int, int]:
    """Tells a gradient from an earlier one."""
    with contextlib.suppress(RuntimeError):
        if (tensor.is_leaf or tensor.retains_grad) and tensor.grad is not None:
            return id(tensor.grad), tensor.grad._version
    return 0, 0
