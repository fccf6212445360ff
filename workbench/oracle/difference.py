"""From a disagreement to the record that people read and the store keeps: numbers, first elements, class of change, picture."""

from __future__ import annotations

import numpy as np

from store.records import Difference, Element, NoiseKind, Symptom
from workbench.oracle.compare import Disagreement
from workbench.oracle.dtypes import Array, Floats, Mask, as_reals, real_format, ulp
from workbench.oracle.observation import Observation

ELEMENTS = 8
ROWS, COLUMNS = 32, 64
LARGE = 1e-2
"""A relative change above this is ``finite:large`` in the class of change."""


def difference(found: Disagreement, shadow: Observation | None = None) -> Difference:
    """The record of a disagreement; of its unexplained elements, or of all of them when every one is excused."""
    excused = max(found.excused, key=lambda k: list(NoiseKind).index(k)) if found.excused and not found.is_open else None
    leaf = found.eager or found.compiled
    dtype, shape = (leaf.dtype, leaf.shape) if leaf is not None else ("", ())
    if found.left is None or found.eager is None or found.compiled is None or found.eager.array is None or found.compiled.array is None:
        change = found.symptom.value if leaf is None or found.symptom is not Symptom.DTYPE else _dtype_change(found)
        return Difference(
            found.path,
            found.symptom,
            dtype,
            shape,
            0 if found.left is None else int(found.left.sum()),
            change=change,
            detail=found.detail,
            excused=excused,
        )
    mask = found.left if found.left.any() else _any_difference(as_reals(found.eager.array), as_reals(found.compiled.array))
    eager, compiled = as_reals(found.eager.array), as_reals(found.compiled.array)
    truth = _truth(found.path, shadow)
    absolute, relative = _distances(eager, compiled)
    finite = mask & np.isfinite(absolute)
    return Difference(
        path=found.path,
        symptom=found.symptom,
        dtype=dtype,
        shape=shape,
        mismatched=int(mask.sum()),
        elements=_elements(mask, eager, compiled, truth, absolute),
        max_abs=_largest(absolute, finite),
        max_rel=_largest(relative, finite),
        max_ulp=_largest(absolute / ulp(_magnitude(eager, compiled), dtype), finite) if real_format(dtype) is not None else None,
        change=_change(mask, eager, compiled, relative),
        grid=_grid(np.where(mask, np.where(np.isfinite(relative), relative, 1.0), 0.0)),
        excused=excused,
    )


def _elements(mask: Mask, eager: Array, compiled: Array, truth: Array | None, absolute: Floats) -> tuple[Element, ...]:
    """The worst first: NaN and infinite ones, then by distance, ties by place."""
    places = np.argwhere(mask)
    badness = np.where(np.isfinite(absolute), absolute, np.inf)[mask]
    told = []
    for row in np.argsort(-badness, kind="stable")[:ELEMENTS]:
        index = tuple(int(n) for n in places[row])
        real = None if truth is None or truth.shape != eager.shape else _text(truth[index])
        told.append(Element(index, _text(eager[index]), _text(compiled[index]), real))
    return tuple(told)


def _truth(path: str, shadow: Observation | None) -> Array | None:
    leaf = shadow.leaves.get(path) if shadow is not None else None
    return None if leaf is None or leaf.shadow is None else as_reals(leaf.shadow)


def _distances(eager: Array, compiled: Array) -> tuple[Floats, Floats]:
    """Absolute and relative distance; integers exactly where float64 can hold them."""
    with np.errstate(all="ignore"):
        if eager.dtype.kind in "iu" and eager.dtype.itemsize == 8:
            absolute = np.where(eager > compiled, eager - compiled, compiled - eager).astype(np.uint64).astype(np.float64)
        else:
            absolute = np.abs(_floats(eager) - _floats(compiled))
        relative = absolute / np.abs(_floats(eager))
    absolute = np.where(np.isnan(_floats(eager)) & np.isnan(_floats(compiled)), 0.0, absolute)
    return absolute, np.where(absolute == 0, 0.0, relative)


def _change(mask: Mask, eager: Array, compiled: Array, relative: Floats) -> str:
    """The class of change that a reduction must keep: the most telling one among the mismatched elements."""
    if eager.dtype.kind == "b":
        return "bool"
    if eager.dtype.kind in "iu":
        return "integer"
    left, right = _classes(eager[mask]), _classes(compiled[mask])
    for pair in (
        ("nan", "finite"),
        ("finite", "nan"),
        ("inf", "finite"),
        ("finite", "inf"),
        ("nan", "inf"),
        ("inf", "nan"),
        ("inf", "inf"),
    ):
        if ((left == pair[0]) & (right == pair[1])).any():
            return f"{pair[0]}->{pair[1]}"
    moved = relative[mask]
    return "finite:large" if (np.nan_to_num(moved, nan=np.inf) > LARGE).any() else "finite:small"


def _classes(values: Array) -> Array:
    return np.where(np.isnan(values), "nan", np.where(np.isinf(values), "inf", "finite"))


def _dtype_change(found: Disagreement) -> str:
    assert found.eager is not None
    assert found.compiled is not None
    return f"dtype:{found.eager.dtype}->{found.compiled.dtype}"


def _grid(errors: Floats) -> tuple[tuple[float, ...], ...]:
    """Largest relative error per block, at most 32x64 blocks; the leading axes become rows."""
    flat = errors.reshape(-1, errors.shape[-1]) if errors.ndim > 1 else errors.reshape(1, -1)
    if flat.size == 0:
        return ()
    if flat.shape[0] == 1 and flat.shape[1] > COLUMNS:
        width = min(COLUMNS, int(np.ceil(np.sqrt(flat.shape[1]))))
        padded = np.zeros(int(np.ceil(flat.shape[1] / width)) * width)
        padded[: flat.shape[1]] = flat[0]
        flat = padded.reshape(-1, width)
    rows = np.array_split(np.arange(flat.shape[0]), min(ROWS, flat.shape[0]))
    columns = np.array_split(np.arange(flat.shape[1]), min(COLUMNS, flat.shape[1]))
    return tuple(tuple(float(f"{flat[np.ix_(r, c)].max():.3g}") for c in columns) for r in rows)


def _any_difference(eager: Array, compiled: Array) -> Mask:
    return np.asarray((eager != compiled) & ~((eager != eager) & (compiled != compiled)))


def _largest(values: Floats, mask: Mask) -> float | None:
    """The largest finite value under the mask: a distance relative to zero is no number."""
    told = values[mask & np.isfinite(values)]
    return float(told.max()) if told.size else None


def _magnitude(eager: Array, compiled: Array) -> Floats:
    """The larger side, so that zero on one of them is not measured in subnormals."""
    return np.maximum(np.abs(_floats(eager)), np.abs(_floats(compiled)))


def _floats(array: Array) -> Floats:
    return array.astype(np.float64)


def _text(value: object) -> str:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        return f"{number:.9g}" if isinstance(value, np.float32) else repr(number)
    return str(number)
