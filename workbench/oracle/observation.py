"""What one run showed, read from the runner's result. A document that is not of the agreed form is no observation (``ForgedError``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from store.records import JSON
from workbench.oracle.dtypes import Array, Floats, decode

OUTCOMES = ("returned", "raised", "invalid")


class ForgedError(ValueError):
    """The result is not what a runner writes: a program spoiled its own verdict."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What an index-valued leaf chose among: float64 keys, the dimension its indices run over (None: flattened), the keys' own dtype."""

    array: Floats
    dim: int | None
    dtype: str


class Leaf:
    """One tensor of an observation; arrays are decoded when first asked for.

    path:  section and place, ``return[0]``
    shape: of the tensor; arrays of complex leaves have it too
    same:  path of an earlier leaf that is the very same object, or None
    digest: of the elements, for large leaves; one that the run left unchanged has no elements here
    """

    def __init__(self, data: Mapping[str, JSON], blobs: memoryview) -> None:
        try:
            self.path = str(data["path"])
            self.dtype = str(data["dtype"])
            self.shape = tuple(int(n) for n in data["shape"])
            self.stride = tuple(int(n) for n in data.get("stride") or ())
            self.device = str(data.get("device", "cpu"))
            self.requires_grad = bool(data.get("requires_grad", False))
            self.kind = str(data.get("kind", "dense"))
            self.class_name = str(data.get("class", "Tensor"))
            self.same = data.get("same")
            self.digest = data.get("digest")
        except (KeyError, TypeError, ValueError) as error:
            raise ForgedError(f"a leaf without {error}") from error
        self._data = data
        self._blobs = blobs

    @cached_property
    def array(self) -> Array | None:
        """The elements, or None where the dtype has none to read."""
        raw = self._blob("blob")
        return None if raw is None else self._decode(raw, self.dtype)

    @cached_property
    def raw(self) -> bytes:
        """The bytes of the elements."""
        found = self._blob("blob")
        return b"" if found is None else bytes(found)

    @cached_property
    def shadow(self) -> Array | None:
        """The float64 (complex128) image from a shadow run."""
        raw = self._blob("shadow")
        if raw is None:
            return None
        return self._decode(raw, "complex128" if self.dtype.startswith("complex") else "float64")

    def bound(self, name: str) -> Floats | None:
        """``low`` or ``high`` of a nudge run as float64; real and imaginary parts in a last axis of 2."""
        value = self._data.get(name)
        if value is None:
            return None
        try:
            raw = self._blob(name)
            shape = (*self.shape, 2) if self.dtype.startswith("complex") else self.shape
            assert raw is not None
            return np.frombuffer(raw, "<f8").reshape(shape)
        except (ValueError, AssertionError, TypeError) as error:
            raise ForgedError(f"{self.path}: {name} does not fit its shape") from error

    @cached_property
    def nudged_nan(self) -> Array | None:
        """Where some nudge run gave NaN (bool, same shape as the bounds)."""
        raw = self._blob("nan")
        if raw is None:
            return None
        shape = (*self.shape, 2) if self.dtype.startswith("complex") else self.shape
        return np.frombuffer(raw, np.uint8).astype(np.bool_).reshape(shape)

    @cached_property
    def keys(self) -> Keys | None:
        """The keys that this index leaf chose among (shadow run), or None when it is no index."""
        told = self._data.get("keys")
        if not isinstance(told, dict):
            return None
        try:
            start, size = (int(n) for n in told["blob"])
            shape = tuple(int(n) for n in told["shape"])
            dim = None if told.get("dim") is None else int(told["dim"])
            array = np.frombuffer(self._blobs[start : start + size], "<f8").reshape(shape)
        except (KeyError, TypeError, ValueError) as error:
            raise ForgedError(f"{self.path}: keys that do not fit") from error
        return Keys(array, dim, str(told.get("dtype", "float32")))

    def _blob(self, name: str) -> memoryview | None:
        place = self._data.get(name)
        if place is None:
            return None
        try:
            start, size = int(place[0]), int(place[1])
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise ForgedError(f"{self.path}: {name} has no place") from error
        if start < 0 or size < 0 or start + size > len(self._blobs):
            raise ForgedError(f"{self.path}: {name} lies outside the result")
        return self._blobs[start : start + size]

    def _decode(self, raw: memoryview, dtype: str) -> Array | None:
        try:
            return decode(raw, dtype, self.shape)
        except ValueError as error:
            raise ForgedError(f"{self.path}: {len(raw)} bytes for {dtype}{list(self.shape)}") from error


@dataclass(frozen=True)
class Raised:
    """An exception as observed: class with Dynamo's wrappers taken off, message, line in the program file."""

    class_name: str
    message: str
    line: int | None
    wrapped: str | None
    traceback: str


class Observation:
    """One run's document and tensors.

    calls: of a script, one observation a compiled call, with what the document says of the whole run besides
    """

    def __init__(self, document: Mapping[str, Any], blobs: memoryview) -> None:
        self.outcome = str(document.get("outcome"))
        if self.outcome not in OUTCOMES:
            raise ForgedError(f"outcome {self.outcome!r}")
        self.where = str(document.get("where", "call"))
        leaves = document.get("leaves") or []
        if not isinstance(leaves, list) or not all(isinstance(leaf, dict) for leaf in leaves):
            raise ForgedError("leaves that are no list of objects")
        self.leaves: dict[str, Leaf] = {}
        for data in leaves:
            leaf = Leaf(data, blobs)
            self.leaves[leaf.path] = leaf
        self.python: Mapping[str, JSON] = _mapping(document, "python")
        self.aliases = _pairs(document, "aliases")
        self.probed = _pairs(document, "probed")
        self.rng: Mapping[str, JSON] = _mapping(document, "rng")
        self.modes: Mapping[str, JSON] = _mapping(document, "modes")
        self.facts: Mapping[str, JSON] = _mapping(document, "facts")
        refused = self.facts.get("refused")
        self.refused = [r for found in (refused if isinstance(refused, list) else []) if (r := _exception(found)) is not None]
        self.warnings: Mapping[str, JSON] = _mapping(document, "warnings")
        self.timings: Mapping[str, JSON] = _mapping(document, "timings")
        self.exception = _exception(document.get("exception"))
        if self.outcome != "returned" and self.exception is None:
            raise ForgedError(f"{self.outcome} without an exception")
        self.calls = tuple(self._call(call, blobs) for call in _calls(document))

    def _call(self, document: Mapping[str, Any], blobs: memoryview) -> Observation:
        facts = {k: v for k, v in self.facts.items() if k != "plan"}
        return Observation({**document, "facts": {**facts, **_mapping(document, "facts")}, "warnings": self.warnings, "calls": []}, blobs)


def _mapping(document: Mapping[str, Any], name: str) -> Mapping[str, JSON]:
    found = document.get(name) or {}
    if not isinstance(found, dict):
        raise ForgedError(f"{name} that is no object")
    return found


def _calls(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = document.get("calls") or []
    if not isinstance(found, list) or not all(isinstance(call, dict) for call in found):
        raise ForgedError("calls that are no list of objects")
    return found


def _pairs(document: Mapping[str, Any], name: str) -> frozenset[tuple[str, str]]:
    try:
        return frozenset((str(a), str(b)) for a, b in document.get(name) or [])
    except (TypeError, ValueError) as error:
        raise ForgedError(f"{name} that are no pairs") from error


def _exception(found: Any) -> Raised | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        raise ForgedError("an exception that is no object")
    line = found.get("line")
    return Raised(
        str(found.get("class", "Exception")),
        str(found.get("message", "")),
        line if isinstance(line, int) else None,
        str(found["wrapped"]) if found.get("wrapped") else None,
        str(found.get("traceback", "")),
    )
