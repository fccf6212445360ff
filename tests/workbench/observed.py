"""Observations made from numpy arrays, for tests of the host side that need no runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.oracle.observation import Observation


def observation(leaves: Mapping[str, Any] | None = None, **document: Any) -> Observation:
    """A returned observation whose leaves are the given arrays (or (array, extra) pairs; extra arrays become blobs)."""
    blobs = bytearray()

    def blob(array: Any) -> list[int]:
        raw = np.ascontiguousarray(array).tobytes()
        place = [len(blobs), len(raw)]
        blobs.extend(raw)
        return place

    told = []
    for path, given in (leaves or {}).items():
        array, extra = given if isinstance(given, tuple) else (given, {})
        array = np.asarray(array)
        stride = [s // array.itemsize for s in array.strides]
        leaf = {"path": path, "dtype": str(array.dtype), "shape": list(array.shape), "stride": stride, "blob": blob(array)}
        for name, value in extra.items():
            if name in ("shadow", "low", "high"):
                leaf[name] = blob(np.asarray(value, np.float64))
            elif name == "nan":
                leaf[name] = blob(np.asarray(value, np.uint8))
            elif name == "keys":
                keys, dim = value
                keys = np.asarray(keys, np.float64)
                leaf[name] = {"blob": blob(keys), "shape": list(keys.shape), "dim": dim}
            else:
                leaf[name] = value
        told.append(leaf)
    return Observation({"outcome": "returned", "leaves": told, **document}, memoryview(bytes(blobs)))
