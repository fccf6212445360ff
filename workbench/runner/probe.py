"""The write probe: write into one output, see what else changed, restore. Run last, on detached data, after everything is recorded."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .aliases import Footprint, candidates, footprints
from .observe import Leaf

PATTERNS = (0xA5, 0x5A)
"""Complements of each other: no element can hold both, so a write with one of the two always shows."""

SPAN_LIMIT = 256 * 2**20


def probe(leaves: Sequence[Leaf]) -> list[list[str]]:
    """Pairs of paths where a write into the first changed the second.

    Only returned tensors and inputs are written to; on CPU only where the kernel lets us: a write to a read-only mapping ends the child.
    """
    prints = footprints(leaves)
    neighbours: dict[int, list[int]] = {}
    for first, second in candidates(prints):
        neighbours.setdefault(first, []).append(second)
        neighbours.setdefault(second, []).append(first)
    writable = _writable_ranges()
    found: list[list[str]] = []
    for position, others in sorted(neighbours.items()):
        target = prints[position]
        if not target.leaf.path.startswith(("return", "inputs")) or target.high - target.low > SPAN_LIMIT:
            continue
        if target.tensor.device.type == "cpu" and not _inside(target, writable):
            continue
        later = [prints[o] for o in sorted(others) if o > position and prints[o].high - prints[o].low <= SPAN_LIMIT]
        found += [[target.leaf.path, o.leaf.path] for o in _changed_by_write(target, later)]
    return found


def _changed_by_write(target: Footprint, others: Sequence[Footprint]) -> list[Footprint]:
    if not others:
        return []
    span = _bytes_of(target, whole=True)
    saved = span.clone()
    before = [_bytes_of(o).clone() for o in others]
    changed = [False] * len(others)
    try:
        for pattern in PATTERNS:
            _bytes_of(target).fill_(pattern)
            changed = [c or not torch.equal(_bytes_of(o), b) for c, o, b in zip(changed, others, before, strict=True)]
    finally:
        span.copy_(saved)
    return [o for o, c in zip(others, changed, strict=True) if c]


def _bytes_of(print_: Footprint, *, whole: bool = False) -> torch.Tensor:
    """The elements as bytes over the same memory; ``whole``: the gaps between them too."""
    offset = print_.low - print_.base
    empty = torch.empty(0, dtype=torch.uint8, device=print_.tensor.device)
    shape, stride = ((print_.high - print_.low,), (1,)) if whole else print_.byte_geometry()
    return empty.set_(print_.tensor.untyped_storage(), offset, shape, stride)


def _writable_ranges() -> list[tuple[int, int]] | None:
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            rows = [line.split(maxsplit=2) for line in maps]
    except OSError:
        return None
    ranges: list[tuple[int, int]] = []
    for addresses, permissions, *_ in rows:
        if "w" not in permissions:
            continue
        low, high = (int(part, 16) for part in addresses.split("-"))
        if ranges and ranges[-1][1] == low:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return ranges


def _inside(print_: Footprint, ranges: list[tuple[int, int]] | None) -> bool:
    return ranges is None or any(low <= print_.low and print_.high <= high for low, high in ranges)
