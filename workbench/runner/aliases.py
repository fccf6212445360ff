"""Which observed tensors share memory: overlap of the bytes that their elements occupy, not equality of storage.

Chunks of one tensor share a storage without overlapping; that is no aliasing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .observe import Leaf

PAIR_LIMIT = 4000
EXACT_LIMIT = 64 * 2**20
"""Bytes of address range up to which overlap is decided byte by byte; beyond it the bounding ranges decide."""


@dataclass(slots=True)
class Footprint:
    """The bytes that a leaf's elements occupy: ``low <= address < high``, not all of them when strides leave gaps."""

    leaf: Leaf
    tensor: torch.Tensor
    low: int
    high: int

    @property
    def base(self) -> int:
        """Address of the storage."""
        return self.tensor.untyped_storage().data_ptr()

    def byte_geometry(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides of the same elements as bytes."""
        size = self.tensor.element_size()
        return (*self.tensor.shape, size), (*(s * size for s in self.tensor.stride()), 1)


def footprint(leaf: Leaf) -> Footprint | None:
    """Where the elements of a leaf are; None when it has no memory to compare (empty, meta, sparse)."""
    tensor = leaf.plain
    if tensor is None or tensor.numel() == 0 or tensor.device.type == "meta":
        return None
    size = tensor.element_size()
    low = tensor.untyped_storage().data_ptr() + int(tensor.storage_offset()) * size
    reach = sum((int(n) - 1) * int(s) for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    return Footprint(leaf, tensor, low, low + (reach + 1) * size)


def footprints(leaves: Sequence[Leaf]) -> list[Footprint]:
    """The leaves that occupy memory, in their order."""
    return [f for leaf in leaves if (f := footprint(leaf)) is not None]


def overlap(first: Footprint, second: Footprint) -> bool:
    """Whether some byte belongs to an element of both."""
    if first.tensor.device != second.tensor.device or first.high <= second.low or second.high <= first.low:
        return False
    low, high = min(first.low, second.low), max(first.high, second.high)
    if high - low > EXACT_LIMIT or first.leaf.tensor is second.leaf.tensor:
        return True
    marks = torch.zeros(high - low, dtype=torch.uint8)
    marks.as_strided(*first.byte_geometry(), first.low - low).fill_(1)
    return bool(marks.as_strided(*second.byte_geometry(), second.low - low).any())


def candidates(prints: Sequence[Footprint]) -> list[tuple[int, int]]:
    """Pairs of positions whose bounding ranges meet, in order; at most ``PAIR_LIMIT``."""
    by_address = sorted(range(len(prints)), key=lambda i: prints[i].low)
    pairs: list[tuple[int, int]] = []
    open_: list[int] = []
    for position in by_address:
        open_ = [other for other in open_ if prints[other].high > prints[position].low]
        pairs += [(min(other, position), max(other, position)) for other in open_]
        open_.append(position)
        if len(pairs) > PAIR_LIMIT:
            break
    return sorted(pairs)[:PAIR_LIMIT]


def overlapping(leaves: Sequence[Leaf]) -> list[list[str]]:
    """Pairs of paths whose memory overlaps, each pair and the list in order of appearance."""
    prints = footprints(leaves)
    return [[prints[a].leaf.path, prints[b].leaf.path] for a, b in candidates(prints) if overlap(prints[a], prints[b])]
