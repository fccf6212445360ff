"""What nudged eager runs make of Python values and shapes: text, numbers and sizes that a program reads out of rounded tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from store.records import JSON, NoiseKind
from workbench.oracle.compare import Change, Disagreement, number_at
from workbench.oracle.dtypes import FLOATS, Mask
from workbench.oracle.observation import Observation

Pins = Mapping[str, Mask]
"""Elements, and places of Python values, that backend ``eager`` also has wrong, by path: rounding cannot explain them."""

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


def reached(found: Disagreement, nudged: list[Observation], pins: Pins) -> int:
    """Excuses the places of a Python value, or a shape, that some nudged run shows too; how many."""
    variants = [variant for run in nudged for variant in _variants(run)]
    if found.places is None:
        shapes = [shape for variant in variants if isinstance(shape := variant["shapes"].get(found.path), list)]
        if found.path in pins or not _shape_reached(found, shapes):
            return 0
        found.excuse(NoiseKind.NUDGE)
        return 1
    places = [
        place
        for place, change in found.places.items()
        if found.path + place not in pins and _reached(place, change, list(_at(place, found.path, variants)))
    ]
    return found.excuse_places(NoiseKind.NUDGE, places)


def _shape_reached(found: Disagreement, shapes: list[list[int]]) -> bool:
    """Every size of compiled is between those of eager and of nudged runs."""
    if found.eager is None or found.compiled is None:
        return False
    seen = [shape for shape in ([*found.eager.shape], *shapes) if len(shape) == len(found.compiled.shape)]
    return len(seen) > 1 and all(
        size in sizes or _between(size, list(sizes)) for size, sizes in zip(found.compiled.shape, zip(*seen, strict=True), strict=True)
    )


def _variants(run: Observation) -> Iterator[Mapping[str, JSON]]:
    """Those of one run that are formed as a runner forms them."""
    listed = run.facts.get("variants")
    for variant in listed if isinstance(listed, list) else ():
        if isinstance(variant, dict) and all(isinstance(variant.get(part), dict) for part in ("python", "shapes")):
            yield variant


def _at(place: str, section: str, variants: list[Mapping[str, JSON]]) -> Iterator[JSON]:
    """The value of each variant at a place; None where it has nothing there."""
    from deepdiff import extract

    for variant in variants:
        try:
            yield extract(variant["python"][section], place)  # type: ignore[no-untyped-call]
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            yield None


def _reached(place: str, change: Change, others: list[JSON]) -> bool:
    if change.right in others:
        return True
    seen = [change.left, *others]
    numbers = [number for number in (number_at(place, value) for value in seen) if number is not None]
    value = number_at(place, change.right)
    if value is not None:
        return _between(value, numbers)
    if type(change.right) is int:
        return _between(change.right, [number for number in seen if type(number) is int])
    if isinstance(change.right, str):
        return _text(change.right, [text for text in seen if isinstance(text, str)])
    return False


def _text(value: str, seen: list[str]) -> bool:
    """The same words, and every number in them between those seen."""
    alike = [text for text in seen if NUMBER.split(text) == NUMBER.split(value)]
    columns = zip(*(NUMBER.findall(text) for text in alike), strict=True)
    own = NUMBER.findall(value)
    return bool(alike and own) and all(
        number in column or _between(float(number), [float(n) for n in column]) for number, column in zip(own, columns, strict=True)
    )


def _between(value: float, seen: list[float]) -> bool:
    if not seen or min(seen) == max(seen):
        return False
    double = FLOATS["float64"]
    slack = double.atol + double.rtol * abs(value) if isinstance(value, float) else 0
    return min(seen) - slack <= value <= max(seen) + slack
