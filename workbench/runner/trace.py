"""Action ``trace``: run a program eagerly and say what every local tensor was, statement by statement. Facts for mutators; it judges nothing.

Values of tensors leave this module only as summaries (smallest, largest, whole numbers or not), never as data.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import torch

MOST_VALUES = 400
"""Values recorded a program: enough for any seed; a loop over thousands of steps must not fill the answer."""
LARGEST_LOOKED_AT = 4096
"""Elements of a tensor that is looked at for its range; beyond this only metadata is told."""


class Recorder:
    """Notes local tensors of frames that run code of one file. Use as a context manager around the call.

    ``values`` has one entry per (function, line, name): the first time that the statement on that line left a new tensor under that name.
    Keys: function, line, name, position (of a parameter, else None), shape, dtype, stride, offset, storage (small number, equal for
    tensors that share memory), numel, contiguous, requires_grad, leaf, integral, low, high, kind (``Tensor``, ``Parameter``, other class).
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.values: list[dict[str, Any]] = []
        self.lines: dict[str, list[int]] = {}
        self._seen: set[tuple[str, int, str]] = set()
        self._known: dict[int, dict[str, tuple[int, int]]] = {}
        self._last_line: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._kept: list[Any] = []
        self._before: Any = None

    def __enter__(self) -> Recorder:
        self._before = sys.gettrace()
        sys.settrace(self._enter_frame)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def storage(self, tensor: torch.Tensor) -> int:
        """A small number that stands for the memory of a tensor for the length of this recording; -1 when it has none."""
        try:
            storage = tensor.untyped_storage()
            pointer = storage.data_ptr()
        except (RuntimeError, NotImplementedError):
            return -1
        if pointer not in self._storages:
            self._storages[pointer] = len(self._storages)
            self._kept.append(storage)  # so that no later tensor gets the same address
        return self._storages[pointer]

    def _enter_frame(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if event != "call" or frame.f_code.co_filename != self.filename:
            return None
        self._last_line[id(frame)] = frame.f_code.co_firstlineno
        self._known[id(frame)] = {}
        self._note(frame, frame.f_code.co_firstlineno)
        return self._in_frame

    def _in_frame(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event in ("line", "return"):
            self._note(frame, self._last_line.get(id(frame), frame.f_lineno))
            self._last_line[id(frame)] = frame.f_lineno
            function = _qualified(frame.f_code)
            if event == "line" and (not self.lines.get(function) or self.lines[function][-1] != frame.f_lineno):
                self.lines.setdefault(function, []).append(frame.f_lineno)
        if event == "return":
            self._known.pop(id(frame), None)
            self._last_line.pop(id(frame), None)
        return self._in_frame

    def _note(self, frame: FrameType, line: int) -> None:
        known = self._known.setdefault(id(frame), {})
        function = _qualified(frame.f_code)
        for name, value in list(frame.f_locals.items()):
            if not isinstance(value, torch.Tensor) or name.startswith("."):
                continue
            mark = (id(value), _version(value))
            if known.get(name) == mark:
                continue
            known[name] = mark
            key = (function, line, name)
            if key in self._seen or len(self.values) >= MOST_VALUES:
                continue
            self._seen.add(key)
            self._kept.append(value)  # so that no later tensor gets the same id
            self.values.append({"function": function, "line": line, "name": name, **self._position(frame, name, line), **self.describe(value)})

    def _position(self, frame: FrameType, name: str, line: int) -> dict[str, Any]:
        parameters = frame.f_code.co_varnames[: frame.f_code.co_argcount]
        is_parameter = name in parameters and line == frame.f_code.co_firstlineno
        return {"position": parameters.index(name) if is_parameter else None}

    def describe(self, tensor: torch.Tensor) -> dict[str, Any]:
        """Metadata of one tensor."""
        dense = tensor.layout is torch.strided
        facts: dict[str, Any] = {
            "shape": [int(n) for n in tensor.shape],
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "stride": [int(n) for n in tensor.stride()] if dense else [],
            "offset": int(tensor.storage_offset()) if dense else 0,
            "storage": self.storage(tensor) if dense else -1,
            "numel": int(tensor.numel()),
            "contiguous": bool(tensor.is_contiguous()) if dense else False,
            "requires_grad": bool(tensor.requires_grad),
            "leaf": bool(tensor.is_leaf),
            "kind": type(tensor).__name__,
        }
        facts.update(_range(tensor) if dense else {"integral": False, "low": None, "high": None})
        return facts


def trace(request: Any) -> dict[str, Any]:
    """Run the program of a request eagerly under a recorder.

    The document: ``outcome`` and ``exception`` as of any run, ``values`` and ``lines`` (the lines executed, a function) of the recorder,
    ``inputs`` (per positional argument: metadata, or the class name of what is no tensor), ``returned`` (tensors in the result, in order).
    """
    from . import exercise, program

    return exercise.traced(program, request, Recorder)


def tensors_in(tree: Any, depth: int = 6) -> Iterator[torch.Tensor]:
    """Tensors inside nested lists, tuples, dicts, in order."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif depth and isinstance(tree, list | tuple):
        for item in tree:
            yield from tensors_in(item, depth - 1)
    elif depth and isinstance(tree, dict):
        for item in tree.values():
            yield from tensors_in(item, depth - 1)


def _qualified(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


def _version(tensor: torch.Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # inference tensors track none
        return 0


def _range(tensor: torch.Tensor) -> dict[str, Any]:
    """Smallest and largest element and whether all are whole numbers; Nones when it was not looked at."""
    nothing = {"integral": False, "low": None, "high": None}
    if tensor.is_complex() or not 0 < tensor.numel() <= LARGEST_LOOKED_AT or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return nothing
    try:
        with torch.no_grad():
            flat = tensor.detach().to(torch.float64)
            low, high = float(flat.min()), float(flat.max())
            whole = bool((flat == flat.trunc()).all())
    except RuntimeError:
        return nothing
    if not (math.isfinite(low) and math.isfinite(high)):
        return nothing
    return {"integral": whole, "low": low, "high": high}
