"""The noise tests of DESIGN §3 that need no further compile: each takes away elements that it explains, elementwise, with numbers.

Wrong leniency hides bugs, so every test here is bounded by an experiment; a difference that backend ``eager`` already shows is never
rounding, since Dynamo alone runs the very same operators (``pins``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from store.records import JSON, NoiseKind, Symptom
from workbench.oracle.compare import Comparison, Disagreement
from workbench.oracle.dtypes import Array, Floats, Mask, as_reals, is_double, real_format, ulp
from workbench.oracle.observation import Leaf, Observation
from workbench.oracle.runs import LARGE
from workbench.oracle.variants import Pins, reached

FACTOR = 4.0
"""How much further than eager compiled may be from the float64 shadow. 6 already hides a planted bfloat16 leak; noise needs 1-4."""
NEIGHBOURS = 33
"""Elements nearest in magnitude whose error stands for eager's: eager alone may be right by luck, the whole tensor is too lenient."""
TIE_ULPS = 8.0
HOPELESS = 100.0
"""Times the widest spread of two nudged runs or more: of 24 it is 2 to 3 times that where nothing is decided on rounded numbers."""


@dataclass(slots=True)
class Evidence:
    """Numbers for the verdict, by the test that explained something."""

    by_kind: dict[NoiseKind, dict[str, JSON]] = field(default_factory=dict)

    def add(self, kind: NoiseKind, **numbers: float) -> None:
        """Keep the count's sum and the largest of every other number."""
        kept = self.by_kind.setdefault(kind, {})
        for name, value in numbers.items():
            kept[name] = kept.get(name, 0) + value if name == "elements" else max(kept.get(name, value), value)

    @property
    def last(self) -> NoiseKind | None:
        """The costliest test that was needed."""
        order = list(NoiseKind)
        return max(self.by_kind, key=order.index) if self.by_kind else None


def excuse_by_control(comparison: Comparison, control: Comparison, kind: NoiseKind, evidence: Evidence) -> None:
    """What differs between two eager runs says nothing about the compiler (F6, F7)."""
    by_path: dict[str, list[Disagreement]] = {}
    for entry in control.found:
        by_path.setdefault(entry.path, []).append(entry)
    for found in comparison.open:
        before = sum(found.excused.values())
        for other in by_path.get(found.path, ()):
            if found.places is not None and other.places is not None:
                found.excuse_places(kind, other.places)
            elif found.left is not None and other.left is not None and found.left.shape == other.left.shape:
                found.excuse(kind, other.left)
            elif found.left is None or other.left is None:
                found.excuse(kind)
        if sum(found.excused.values()) > before:
            evidence.add(kind, elements=sum(found.excused.values()) - before)


def excuse_by_shadow(comparison: Comparison, shadow: Observation, pins: Pins, evidence: Evidence, *, large: bool = False) -> None:
    """Rounding: compiled is not clearly further from the float64 shadow than eager (F1). Finite elements of non-double leaves only.

    ``large``: of leaves of more than ``LARGE`` elements, else of the others
    """
    for found in comparison.open:
        leaf = shadow.leaves.get(found.path)
        if leaf is None or not _has_floats(found) or is_double(leaf.dtype):
            continue
        assert found.eager is not None
        assert found.compiled is not None
        image = leaf.shadow
        left = found.left
        if image is None or left is None or image.shape != found.eager.shape or (left.size > LARGE) is not large:
            continue
        truth, eager, compiled = _reals(image), _reals(found.eager.array), _reals(found.compiled.array)
        able = left & np.isfinite(truth) & np.isfinite(eager) & np.isfinite(compiled) & ~_pinned(pins, found, left)
        if not able.any():
            continue
        allowed = allowed_error(truth, eager, able, found.eager.dtype)
        error = np.abs(compiled[able] - truth[able])
        mask = np.zeros_like(left)
        mask[able] = error <= FACTOR * allowed
        if mask.any():
            worst = float((error / allowed)[error <= FACTOR * allowed].max())
            found.excuse(NoiseKind.ROUNDING, mask)
            evidence.add(NoiseKind.ROUNDING, elements=int(mask.sum()), error_over_eager_error=round(worst, 3), allowed=FACTOR)


def allowed_error(truth: Floats, eager: Floats, wanted: Mask, dtype: str) -> Floats:
    """For each wanted element the largest of eager's own error, its rms over the nearest elements in magnitude, and one ulp (1-d)."""
    with np.errstate(invalid="ignore"):
        errors = np.abs(eager - truth).ravel()
    magnitudes = np.abs(truth).ravel()
    usable = np.flatnonzero(np.isfinite(errors) & np.isfinite(magnitudes))
    order = usable[np.argsort(magnitudes[usable], kind="stable")]
    squares = errors[order] ** 2
    asked = np.flatnonzero(wanted.ravel())
    places = np.searchsorted(magnitudes[order], magnitudes[asked])
    width = min(NEIGHBOURS, len(order))
    starts = np.clip(places - width // 2, 0, len(order) - width)
    local = np.empty(len(asked))
    for begin in range(0, len(asked), 1 << 16):
        part = slice(begin, begin + (1 << 16))
        local[part] = np.sqrt(squares[starts[part, None] + np.arange(width)].mean(axis=1))
    return np.asarray(np.maximum(np.maximum(errors[asked], local), ulp(truth.ravel()[asked], dtype)))


def furthest(comparison: Comparison, shadow: Observation) -> float | None:
    """The largest error of an unexplained element in units of what eager has around it; None where the shadow says nothing."""
    times = []
    for found in comparison.open:
        leaf = shadow.leaves.get(found.path)
        if leaf is None or leaf.shadow is None or found.left is None or not _has_floats(found) or is_double(leaf.dtype):
            continue
        assert found.eager is not None
        assert found.compiled is not None
        if leaf.shadow.shape != found.eager.shape or found.left.size > LARGE:
            continue
        truth, eager, compiled = _reals(leaf.shadow), _reals(found.eager.array), _reals(found.compiled.array)
        able = found.left & np.isfinite(truth) & np.isfinite(eager) & np.isfinite(compiled)
        if able.any():
            times.append(float((np.abs(compiled[able] - truth[able]) / allowed_error(truth, eager, able, found.eager.dtype)).max()))
    return max(times, default=None)


def excuse_eagers_overflow(comparison: Comparison, shadow: Observation, pins: Pins, evidence: Evidence) -> None:
    """Eager overflows on its way in a half type, the true value fits, and compiled has it: a fused kernel kept a wider intermediate (F2).

    Never the other way round, and never where the truth itself is beyond the type or no number.
    """
    for found in comparison.open:
        leaf = shadow.leaves.get(found.path)
        if leaf is None or leaf.shadow is None or not _has_floats(found) or found.left is None:
            continue
        assert found.eager is not None
        assert found.compiled is not None
        form = real_format(found.eager.dtype)
        if form is None or form.mantissa > 10 or leaf.shadow.shape != found.eager.shape:
            continue
        truth, eager, compiled = _reals(leaf.shadow), _reals(found.eager.array), _reals(found.compiled.array)
        able = found.left & ~np.isfinite(eager) & np.isfinite(compiled) & (np.abs(truth) < form.largest) & ~_pinned(pins, found, found.left)
        if not able.any():
            continue
        allowed = FACTOR * allowed_error(truth, np.where(np.isfinite(eager), eager, truth), able, found.eager.dtype)
        mask = np.zeros_like(found.left)
        mask[able] = np.abs(compiled[able] - truth[able]) <= np.maximum(allowed, form.rtol * np.abs(truth[able]))
        if mask.any():
            found.excuse(NoiseKind.LOW_PRECISION, mask)
            evidence.add(NoiseKind.LOW_PRECISION, elements=int(mask.sum()), eager_overflows=int(mask.sum()))


def excuse_by_ties(comparison: Comparison, shadow: Observation, pins: Pins, evidence: Evidence) -> None:
    """Another index whose key equals the extremum, or lies within 8 ulp of it in an inexact program (F5)."""
    near = 0.0 if shadow.facts.get("exact") else TIE_ULPS
    for found in comparison.open:
        leaf = shadow.leaves.get(found.path)
        keys = leaf.keys if leaf is not None else None
        if keys is None or found.left is None or found.eager is None or found.compiled is None:
            continue
        chosen, other = _key_values(keys.array, keys.dim, found.eager), _key_values(keys.array, keys.dim, found.compiled)
        if chosen is None or other is None or chosen.shape != found.left.shape:
            continue
        with np.errstate(invalid="ignore"):
            distance = np.abs(chosen - other)
            bound = near * ulp(np.maximum(np.abs(chosen), np.abs(other)), keys.dtype)
            tied = (chosen == other) | (np.isnan(chosen) & np.isnan(other)) | (distance <= bound)
        mask = found.left & tied & ~_pinned(pins, found, found.left)
        if mask.any():
            found.excuse(NoiseKind.TIES, mask)
            evidence.add(NoiseKind.TIES, elements=int(mask.sum()), key_distance=float(np.nan_to_num(distance[mask]).max()))


def excuse_by_nudge(
    comparison: Comparison, eager: Observation, nudged: Iterable[Observation], pins: Pins, evidence: Evidence, *, whole: bool = False
) -> None:
    """One-ulp changes inside eager reach the compiled value: inside [min, max] of those runs and eager, plus tolerance, elementwise.

    ``whole``: only where whole numbers are compared
    """
    runs = list(nudged)
    for found in comparison.open:
        if whole and not counts(found):
            continue
        if found.left is None and found.movable:
            count = reached(found, runs, pins)
            if count:
                evidence.add(NoiseKind.NUDGE, elements=count)
        if found.left is None or found.compiled is None or found.eager is None or found.compiled.array is None:
            continue
        compiled = as_reals(found.compiled.array)
        bounds = _bounds(found.path, eager, runs)
        if bounds is None or bounds[0].shape != compiled.shape:
            continue
        low, high, nan = bounds
        form = real_format(found.eager.dtype)
        with np.errstate(invalid="ignore"):
            value = compiled.astype(np.float64)
            tolerance = np.zeros_like(value) if form is None else form.atol + form.rtol * np.abs(np.where(np.isfinite(value), value, 0.0))
            inside = (value >= low - tolerance) & (value <= high + tolerance)
        moved = (high > low) | nan
        mask = found.left & moved & (inside | (np.isnan(value) & nan)) & ~_pinned(pins, found, found.left)
        if mask.any():
            finite = mask & np.isfinite(low) & np.isfinite(high)
            spread = float((high[finite] - low[finite]).max(initial=0.0))
            found.excuse(NoiseKind.NUDGE, mask)
            evidence.add(NoiseKind.NUDGE, elements=int(mask.sum()), spread=spread)


def counts(found: Disagreement) -> bool:
    """Whole numbers on both sides, as integers, bools, floats, Python values or sizes: what rounding moves by flips alone."""
    if found.left is None:
        return found.movable
    if found.eager is None or found.compiled is None or found.eager.array is None or found.compiled.array is None:
        return False
    sides = [as_reals(side.array)[found.left] for side in (found.eager, found.compiled) if side.array is not None]
    return all(a.dtype.kind in "biu" or bool((np.isfinite(a) & (a == np.floor(a))).all()) for a in sides)


def out_of_reach(comparison: Comparison, eager: Observation, nudged: Iterable[Observation]) -> bool:
    """Some float element is so far outside of what nudged runs reach that more of them would not help; says nothing of decisions."""
    runs = list(nudged)
    for found in comparison.open:
        if found.left is None or not _has_floats(found) or found.left.size > LARGE:
            continue
        assert found.eager is not None
        assert found.compiled is not None
        bounds = _bounds(found.path, eager, runs)
        form = real_format(found.eager.dtype)
        value = _reals(found.compiled.array)
        if bounds is None or form is None or bounds[0].shape != value.shape:
            continue
        low, high, nan = bounds
        with np.errstate(invalid="ignore"):
            widest = np.where(np.isfinite(high - low), high - low, 0.0).max(initial=0.0)  # an element may stay by chance in a few runs
            spread = widest + form.atol + form.rtol * np.abs(value)
            far = (value < low - HOPELESS * spread) | (value > high + HOPELESS * spread)
        if (found.left & far & ~nan).any():
            return True
    return False


def excuse_by_vanishing(comparison: Comparison, other: Comparison, kind: NoiseKind, pins: Pins, evidence: Evidence) -> None:
    """What another compiled run (its own excuses taken) no longer shows is explained by what that run changed."""
    still = {(d.path, d.symptom) for d in (*other.open, *other.aside)}
    elements: dict[str, list[Disagreement]] = {}
    for remaining in (*other.open, *other.aside):
        if remaining.left is not None or remaining.symptom in (Symptom.DTYPE, Symptom.SHAPE, Symptom.STRUCTURE):
            elements.setdefault(remaining.path, []).append(remaining)
    for found in comparison.open:
        if found.places is not None:
            left = {p for d in other.open if d.path == found.path and d.places is not None for p in d.places}
            count = found.excuse_places(kind, [p for p in found.places if p not in left and found.path + p not in pins])
            if count:
                evidence.add(kind, elements=count)
            continue
        if found.left is None:
            if (found.path, found.symptom) not in still and found.path not in pins:
                found.excuse(kind)
                evidence.add(kind, elements=1)
            continue
        gone = found.left & ~_pinned(pins, found, found.left)
        for remaining in elements.get(found.path, ()):
            comparable = remaining.left is not None and remaining.left.shape == gone.shape
            gone = gone & ~remaining.left if comparable else np.zeros_like(gone)  # type: ignore[operator]
        if gone.any():
            found.excuse(kind, gone)
            evidence.add(kind, elements=int(gone.sum()))


def pinned_by(comparison: Comparison) -> dict[str, Mask]:
    """The elements that a comparison of backend ``eager`` against eager has wrong."""
    pins: dict[str, Mask] = {}
    for found in comparison.open:
        if found.places is not None:
            pins.update((found.path + place, np.array(True)) for place in found.places)  # noqa: FBT003 - numpy's scalar
            continue
        pins[found.path] = np.array(True) if found.left is None else found.left  # noqa: FBT003 - numpy's scalar
    return pins


def _bounds(path: str, eager: Observation, runs: list[Observation]) -> tuple[Floats, Floats, Mask] | None:
    base = eager.leaves.get(path)
    if base is None or base.array is None:
        return None
    own = as_reals(base.array).astype(np.float64)
    nan = np.isnan(own)
    low, high = np.where(nan, np.inf, own), np.where(nan, -np.inf, own)
    for run in runs:
        leaf = run.leaves.get(path)
        below, above = (leaf.bound("low"), leaf.bound("high")) if leaf is not None else (None, None)
        if below is None or above is None or below.shape != low.shape:
            continue
        low, high = np.minimum(low, below), np.maximum(high, above)
        assert leaf is not None
        if leaf.nudged_nan is not None and leaf.nudged_nan.shape == nan.shape:
            nan = nan | leaf.nudged_nan
    return low, high, nan


def _key_values(keys: Array, dim: int | None, index_leaf: Leaf) -> Floats | None:
    """The keys at the indices of a leaf; None when an index is out of range or the shapes do not belong together."""
    index = index_leaf.array
    if index is None:
        return None
    shape = index.shape
    index = index.astype(np.int64)
    size = keys.size if dim is None else keys.shape[dim]
    if index.size and (index.min() < 0 or index.max() >= size):
        return None
    if dim is None:
        return np.asarray(keys.ravel()[index])
    if index.ndim == keys.ndim - 1:
        index = np.expand_dims(index, dim)
    try:
        return np.asarray(np.take_along_axis(keys, index, axis=dim).reshape(shape))
    except (ValueError, IndexError):
        return None


def _has_floats(found: Disagreement) -> bool:
    return found.left is not None and found.eager is not None and found.compiled is not None and real_format(found.eager.dtype) is not None


def _reals(array: Array | None) -> Floats:
    assert array is not None
    return as_reals(array).astype(np.float64)


def _pinned(pins: Pins, found: Disagreement, like: Mask) -> Mask:
    pin = pins.get(found.path)
    if pin is None:
        return np.zeros_like(like)
    return pin if pin.shape == like.shape else np.ones_like(like)
