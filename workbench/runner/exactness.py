"""Which elements of a node are exact: moved, or computed on whole numbers so small that no order of operations rounds.

Only inexact elements may differ between eager and a right compiler, and only they are perturbed by a nudge. Local to the node: what came in
counts as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from .node import DECISIONS, SPECTRAL, Node, floating, real_dtype
from .replay import ReplayError, upcast

Again = Callable[[Callable[[Tensor], Tensor]], list[Tensor]]
"""Replays the node with every upcast operand changed by a function."""


def exact_elements(
    node: Node,
    results: Sequence[Tensor],
    replayed: Sequence[Tensor],
    operands: Sequence[Tensor],
    again: Again,
    before: Mapping[int, Tensor],
) -> list[Tensor]:
    """For each result a bool tensor: the element is exact. Results that are no floats are: their operands decided them.

    ``replayed``: what float64 makes of the primal's own operands. ``operands``: those, upcast. ``before``: upcast contents of written operands
    by position among the results. Equality with the replay can be luck where an operator accumulates, and says nothing where the result is
    float64 itself; there the operands must be whole numbers, and the operator on their magnitudes stay where every whole number is counted.
    """
    counted = _Counted(node, operands, replayed, again)
    masks = []
    for i, (result, value) in enumerate(zip(results, replayed, strict=True)):
        if not floating(result) or DECISIONS.get(node.operator.base) == i:
            masks.append(torch.ones_like(result, dtype=torch.bool))
            continue
        if node.operator.base in SPECTRAL:  # iterations: whatever they gave, another order of them may give another last bit
            masks.append(torch.zeros_like(result, dtype=torch.bool))
            continue
        wide = upcast(result)
        mask = equal(wide, value)
        if node.kind == "accumulating" or (node.kind == "pointwise" and real_dtype(result) == torch.float64):
            untouched = equal(wide, before[i]) if i in before and node.kind == "accumulating" else torch.zeros_like(mask)
            mask = mask & (untouched | counted.elements(i, result, wide))
        masks.append(mask)
    return masks


class _Counted:
    """Elements that every order of operations gives alike, since all numbers on the way are whole and exactly counted."""

    def __init__(self, node: Node, operands: Sequence[Tensor], replayed: Sequence[Tensor], again: Again) -> None:
        self._node = node
        self._whole = all(is_whole(t) for t in operands)
        self._bounds = _bounds(node, operands, replayed, again) if self._whole else None

    def elements(self, position: int, result: Tensor, wide: Tensor) -> Tensor:
        if self._bounds is None:
            return torch.zeros(result.shape, dtype=torch.bool, device=result.device)
        bound = self._bounds[position]
        if real_dtype(result) != torch.float64:
            return bound < 2.0 / torch.finfo(result.dtype).eps
        return (bound < 2.0**52) & _whole(wide) if _scalars_whole(self._node) else torch.zeros_like(bound, dtype=torch.bool)


def equal(left: Tensor, right: Tensor) -> Tensor:
    """Elementwise, nan equal to nan, real and imaginary parts together."""
    return (left == right) | (left.isnan() & right.isnan())


def is_whole(wide: Tensor) -> bool:
    """Every element is a whole number."""
    return bool(_whole(wide).all())


def _whole(wide: Tensor) -> Tensor:
    if wide.is_complex():
        return _whole(wide.real) & _whole(wide.imag)
    return wide == wide.floor()


def _scalars_whole(node: Node) -> bool:
    numbers = [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, float | complex)]
    return all(complex(a).real.is_integer() and complex(a).imag.is_integer() for a in numbers)


def _bounds(node: Node, operands: Sequence[Tensor], replayed: Sequence[Tensor], again: Again) -> list[Tensor] | None:
    """Per element, how large a sum can have become on the way."""
    if node.kind == "pointwise":
        largest = max((float(t.abs().max()) for t in operands if t.numel()), default=0.0)
        return [value.abs().clamp(min=largest) for value in replayed]
    return magnitudes(again)


def magnitudes(again: Again) -> list[Tensor] | None:
    """The operator on the magnitudes of its operands; None where it does not take them."""
    try:
        return [value.abs() if floating(value) else value for value in again(lambda t: t.abs().to(t.dtype))]
    except ReplayError:
        return None
