"""Eager against compiled, leaf by leaf: masks first and exactly, then default tolerances (DESIGN §3 Float rule). Excuses nothing.

``torch._dynamo.utils.same`` decides nothing here: it says True for ``[nan, 1]`` against ``[0, 1]`` with a float64 reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from store.records import JSON, NoiseKind, Symptom
from workbench.oracle.dtypes import Mask, as_reals, real_format
from workbench.oracle.observation import Leaf, Observation

MUTABLE = ("inputs", "parameters", "buffers", "globals", "after")
"""Sections whose state after the call belongs to the caller."""


@dataclass(frozen=True, slots=True)
class Change:
    """One place in a description where two Python values differ: on the left, on the right (None: nothing there), and a sentence."""

    left: JSON
    right: JSON
    sentence: str


@dataclass(slots=True)
class Disagreement:
    """One leaf, or one Python value, in which two observations differ.

    left:    bool mask of elements that differ and that nothing has excused yet (complex: a last axis of 2); None when there are no elements
    excused: how many elements each noise test took away
    nan:     where one side alone is NaN; when only other elements are left, the symptom is no longer ``nan``
    places:  for Python values, where in the section they differ, as far as nothing has excused it yet; None for everything else
    detail:  one sentence where there are no numbers
    """

    path: str
    symptom: Symptom
    eager: Leaf | None = None
    compiled: Leaf | None = None
    left: Mask | None = None
    detail: str = ""
    nan: Mask | None = None
    places: dict[str, Change] | None = None
    excused: dict[NoiseKind, int] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """Whether something of it is still unexplained."""
        if self.left is not None:
            return bool(self.left.any())
        return not self.excused if self.places is None else bool(self.places)

    @property
    def movable(self) -> bool:
        """Whether rounding could have brought it about: elements, Python values, a shape that depends on values."""
        return self.left is not None or self.places is not None or self.symptom is Symptom.SHAPE

    def excuse(self, kind: NoiseKind, mask: Mask | None = None) -> None:
        """Take away the elements in ``mask`` (everything when None), explained by ``kind``."""
        if self.places is not None:
            self.excuse_places(kind, list(self.places))
            return
        if self.left is None:
            self.excused[kind] = 1
            return
        taken = self.left if mask is None else self.left & mask
        count = int(taken.sum())
        if count:
            self.excused[kind] = self.excused.get(kind, 0) + count
            self.left = self.left & ~taken
        if self.symptom is Symptom.NAN and self.nan is not None and self.left.any() and not (self.left & self.nan).any():
            self.symptom = Symptom.VALUE

    def excuse_places(self, kind: NoiseKind, places: Iterable[str]) -> int:
        """Take away these places; how many there were."""
        assert self.places is not None
        taken = [place for place in places if place in self.places]
        left = {place: change for place, change in self.places.items() if place not in taken}
        if taken:
            self.excused[kind] = self.excused.get(kind, 0) + len(taken)
            self.detail = _told(left) if left else self.detail
            self.places = left
        return len(taken)


@dataclass(slots=True)
class Comparison:
    """All disagreements of two observations that both returned, weak ones and signs of zero apart.

    aside: large leaves that differ and that no test had to decide on, since smaller ones did
    """

    found: list[Disagreement]
    aside: list[Disagreement] = field(default_factory=list)
    weak: list[Disagreement] = field(default_factory=list)
    signed_zero: list[str] = field(default_factory=list)

    @property
    def open(self) -> list[Disagreement]:
        """Those not explained so far."""
        return [d for d in self.found if d.is_open]

    @property
    def equal(self) -> bool:
        """Nothing is left unexplained."""
        return not self.open

    def set_aside(self, size: int) -> None:
        """Leaves of more elements than this count no longer; nothing happens where they are all there is."""
        large = [d for d in self.open if d.left is not None and d.left.size > size]
        if len(large) < len(self.open):
            self.aside += large
            self.found = [d for d in self.found if all(d is not other for other in large)]


def compare(eager: Observation, compiled: Observation) -> Comparison:
    """Everything in which two returned observations differ."""
    result = Comparison([])
    for path, leaf in eager.leaves.items():
        other = compiled.leaves.get(path)
        if other is None:
            if not _replaced_by_python(path, eager, compiled):
                result.found.append(
                    Disagreement(path, _state_symptom(path, Symptom.STRUCTURE), leaf, None, None, "a tensor in eager, missing in compiled")
                )
        else:
            _compare_leaf(leaf, other, result)
    for path, other in compiled.leaves.items():
        if path not in eager.leaves and not _replaced_by_python(path, eager, compiled):
            result.found.append(
                Disagreement(path, _state_symptom(path, Symptom.STRUCTURE), None, other, None, "a tensor in compiled, none in eager")
            )
    result.found += _compare_python(eager.python, compiled.python)
    result.found += _compare_aliases(eager, compiled)
    result.found += _compare_mapping("modes", Symptom.MODES, eager.modes, compiled.modes)
    result.found += _compare_mapping("rng", Symptom.RNG, eager.rng, compiled.rng)
    return result


def _compare_leaf(eager: Leaf, compiled: Leaf, result: Comparison) -> None:
    path = eager.path
    if eager.same is not None and eager.same == compiled.same:
        return  # the same object on both sides: told once, where it first stands
    facts: list[tuple[Symptom, object, object]] = [
        (Symptom.DTYPE, eager.dtype, compiled.dtype),
        (Symptom.SHAPE, list(eager.shape), list(compiled.shape)),
        (Symptom.DEVICE, eager.device, compiled.device),
        (Symptom.REQUIRES_GRAD, eager.requires_grad, compiled.requires_grad),
        (Symptom.STRUCTURE, (eager.kind, eager.class_name), (compiled.kind, compiled.class_name)),
    ]
    for symptom, left, right in facts:
        if left != right:
            result.found.append(
                Disagreement(path, symptom, eager, compiled, None, f"{symptom.value} {_word(left)}, compiled {_word(right)}")
            )
    if eager.shape != compiled.shape or eager.kind != compiled.kind:
        return
    if _meaningful_stride(eager) != _meaningful_stride(compiled):
        result.weak.append(
            Disagreement(path, Symptom.STRIDE, eager, compiled, None, f"stride {list(eager.stride)}, compiled {list(compiled.stride)}")
        )
    if eager.dtype != compiled.dtype or (eager.digest is not None and eager.digest == compiled.digest):
        return
    mask, nan = differing(eager, compiled)
    if mask is None:
        if (eager.raw, eager.digest) != (compiled.raw, compiled.digest):
            result.found.append(Disagreement(path, _state_symptom(path, Symptom.VALUE), eager, compiled, None, "bytes differ"))
        return
    if mask.any():
        symptom = _state_symptom(path, Symptom.NAN if nan is not None and nan.any() else Symptom.VALUE)
        result.found.append(Disagreement(path, symptom, eager, compiled, mask, nan=nan))
    elif signs_of_zero_differ(eager, compiled):
        result.signed_zero.append(path)


def differing(eager: Leaf, compiled: Leaf) -> tuple[Mask | None, Mask | None]:
    """Elements that differ: NaN and infinity masks and integers exactly, finite floats within ``assert_close``'s tolerances.

    Returns (mask, NaN-mask part of it), complex leaves with a last axis of 2; (None, None) when the elements cannot be read.
    """
    left, right = eager.array, compiled.array
    if left is None or right is None:
        return None, None
    left, right = as_reals(left), as_reals(right)
    form = real_format(eager.dtype)
    if form is None:
        return np.asarray(left != right), None
    nan = np.isnan(left) ^ np.isnan(right)
    infinite = (np.isinf(left) | np.isinf(right)) & (left != right) & ~np.isnan(left) & ~np.isnan(right)
    finite = np.isfinite(left) & np.isfinite(right)
    with np.errstate(all="ignore"):
        a, b = left.astype(np.float64), right.astype(np.float64)
        far = np.abs(a - b) > form.atol + form.rtol * np.abs(a)
    return np.asarray(nan | infinite | (finite & far)), np.asarray(nan)


def signs_of_zero_differ(eager: Leaf, compiled: Leaf) -> bool:
    """Whether some element is 0.0 on one side and -0.0 on the other."""
    if real_format(eager.dtype) is None or eager.array is None or compiled.array is None:
        return False
    left, right = as_reals(eager.array), as_reals(compiled.array)
    return bool(((left == 0) & (right == 0) & (np.signbit(left) != np.signbit(right))).any())


def _meaningful_stride(leaf: Leaf) -> tuple[int, ...]:
    """Strides of dimensions that can move; those of size 1 mean nothing, and of an empty tensor none does."""
    if not leaf.stride or 0 in leaf.shape:
        return ()
    return tuple(s for s, n in zip(leaf.stride, leaf.shape, strict=False) if n > 1)


def _state_symptom(path: str, otherwise: Symptom) -> Symptom:
    section = path.partition("[")[0].partition(".")[0]
    if section == "gradients":
        return Symptom.GRADIENT
    return Symptom.MUTATION if section in MUTABLE else otherwise


def _compare_python(eager: Mapping[str, JSON], compiled: Mapping[str, JSON]) -> Iterable[Disagreement]:
    """Plain Python values and structure, through deepdiff; at most one disagreement a symptom and section."""
    for section in sorted({*eager, *compiled}):
        left, right = eager.get(section), compiled.get(section)
        if left == right:
            continue
        from deepdiff import DeepDiff

        delta = DeepDiff(left, right, ignore_nan_inequality=True, verbose_level=2, threshold_to_diff_deeper=0)
        said: dict[Symptom, dict[str, Change]] = {}
        for kind, items in delta.items():
            symptom = Symptom.PYVALUE if kind == "values_changed" else Symptom.STRUCTURE
            if section == "gradients":
                symptom = Symptom.GRADIENT
            said.setdefault(symptom, {}).update(_changes(kind, items))
        for symptom, changes in said.items():
            if changes:
                yield Disagreement(section, symptom, detail=_told(changes), places=changes)


def _told(changes: Mapping[str, Change]) -> str:
    sentences = [change.sentence for change in changes.values()]
    return "; ".join(sentences[:3]) + (f" and {len(sentences) - 3} more" if len(sentences) > 3 else "")


def _changes(kind: str, items: JSON) -> dict[str, Change]:
    """By place, for one kind of deepdiff's; floats within the tolerances of double are no change."""
    added = kind in ("iterable_item_added", "dictionary_item_added")
    told: dict[str, Change] = {}
    for path in items:
        place = str(path)
        where = place.removeprefix("root") or "value"
        change = items[path] if isinstance(items, dict) else None
        if isinstance(change, dict) and "old_value" in change:
            left, right = change["old_value"], change["new_value"]
            if not _close(place, left, right):
                told[place] = Change(left, right, f"{where}: eager {_short(left)}, compiled {_short(right)}")
            continue
        side = "only in compiled" if added else "only in eager"
        sentence = f"{where}: {_short(change)} {side}" if change is not None else f"{where}: {side}"
        told[place] = Change(None, change, sentence) if added else Change(change, None, sentence)
    return told


def number_at(place: str, value: JSON) -> float | None:
    """The Python float (or part of a complex number) that a description holds at a place; None for everything else."""
    if isinstance(value, str) and (place.endswith("['float']") or "['complex']" in place):
        return float(value)
    return None


def _close(place: str, left: JSON, right: JSON) -> bool:
    here, there = number_at(place, left), number_at(place, right)
    double = real_format("float64")
    assert double is not None
    return here is not None and there is not None and bool(abs(here - there) <= double.atol + double.rtol * abs(here))


def _compare_aliases(eager: Observation, compiled: Observation) -> Iterable[Disagreement]:
    """Overlap of memory, and what a write into one leaf changes in another."""
    known = {*eager.leaves} & {*compiled.leaves}
    pairs = {p for p in (eager.aliases | eager.probed) ^ (compiled.aliases | compiled.probed) if p[0] in known and p[1] in known}
    told: set[frozenset[str]] = set()
    for left, right in sorted(pairs):
        key = frozenset((left, right))
        if key in told:
            continue
        told.add(key)
        here = {frozenset(p) for p in eager.aliases | eager.probed}
        there = {frozenset(p) for p in compiled.aliases | compiled.probed}
        if (key in here) == (key in there):
            continue
        side, other = ("eager", "compiled") if key in here else ("compiled", "eager")
        yield Disagreement(left, Symptom.ALIAS, None, None, None, f"{left} and {right} share memory in {side}, not in {other}")


def _compare_mapping(section: str, symptom: Symptom, eager: Mapping[str, JSON], compiled: Mapping[str, JSON]) -> Iterable[Disagreement]:
    for name in sorted({*eager, *compiled}):
        if eager.get(name) != compiled.get(name):
            detail = f"{name}: eager {_short(eager.get(name))}, compiled {_short(compiled.get(name))}"
            yield Disagreement(f"{section}.{name}", symptom, None, None, None, detail)


def _replaced_by_python(path: str, eager: Observation, compiled: Observation) -> bool:
    """Whether the Python trees already tell of this place: a tensor on one side, another value on the other."""
    section = path.partition("[")[0].partition(".")[0]
    return section in eager.python and eager.python.get(section) != compiled.python.get(section)


def _short(value: JSON) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _word(value: object) -> str:
    return " ".join(str(v) for v in value) if isinstance(value, tuple) else str(value)
