"""How far another, equally right order of additions can be off: the more terms, the further; and in the mean that a normalisation subtracts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from .node import Node, floating
from .replay import upcast

NORMALISING = frozenset(
    {
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional",
        "_batch_norm_with_update",
        "_batch_norm_with_update_functional",
        "native_layer_norm",
        "native_group_norm",
    }
)
"""Operators whose first fresh results are the normalised tensor, the means and the reciprocal deviations."""

PRODUCTS = frozenset({"mm", "addmm", "bmm", "baddbmm", "addbmm", "dot", "mv", "addmv", "vdot", "_addmm_activation"})
MOST_TERMS = 1 << 16
"""Longer sums are made in blocks, by ATen and by Inductor: 262,144 terms were no further off than 16,384."""


def growth(count: int) -> float:
    """Units of eps, relative to the sum of magnitudes, by which a running sum of so many terms in eight lanes may be off (two deviations).

    A walk of half-eps steps along a growing sum. Measured beside float64, Inductor's sums of numbers around 50 on AVX2 were off by 1.1, 2.9
    and 9.1 eps for 2**11, 2**14 and 2**16 terms, ATen's by 1 at most; this gives 1.9, 5.3 and 10.7.
    """
    return max(1.0, math.sqrt(min(count, MOST_TERMS)) / 24.0)


def terms(node: Node, results: Sequence[Tensor]) -> int:
    """How many terms one element of a reduction, a matrix product or a mean is summed up from; 1 where the operator does not tell."""
    floats = node.floats
    if not floats or not results:
        return 1
    if node.operator.base in PRODUCTS:
        matrices = [t for t in floats if t.dim()]
        return int(matrices[-1].shape[-2 if matrices[-1].dim() > 1 else -1]) if matrices else 1
    if node.operator.base in NORMALISING:
        means = _parts(results)
        return floats[0].numel() // max(1, means[1].numel()) if means is not None else 1
    smallest = min(r.numel() for r in results)
    return floats[0].numel() // smallest if len(floats) == 1 and smallest else 1


def centred(node: Node, results: Sequence[Tensor], moved: list[Tensor]) -> list[Tensor]:
    """The normalised tensor also moves with its mean: ``(x - mean) * rstd * weight``. ``moved``: what each result moves to; changed in place."""
    parts = _parts(results)
    if parts is None:
        return moved
    output, mean, rstd = parts
    place = {id(r): i for i, r in enumerate(results)}
    shift = (upcast(mean) - moved[place[id(mean)]]) * upcast(rstd)
    weight = node.argument("weight")
    spread = _over(node, shift, output)
    if spread is None:
        return moved
    if isinstance(weight, Tensor):
        shape = list(weight.shape) if node.operator.base == "native_layer_norm" else [-1, *[1] * (output.dim() - 2)]
        spread = spread * upcast(weight).reshape(shape)
    where = place[id(output)]
    moved[where] = moved[where] + spread
    return moved


def _parts(results: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor] | None:
    """Normalised tensor, means, reciprocal deviations: the last three or more fresh results; None where nothing was computed (evaluation)."""
    found = [r for r in results if floating(r)]
    for i in range(len(found) - 2):
        output, mean, rstd = found[i : i + 3]
        if output.dim() > 1 and mean.numel() and mean.shape == rstd.shape and output.numel() > mean.numel():
            return output, mean, rstd
    return None


def _over(node: Node, shift: Tensor, output: Tensor) -> Tensor | None:
    """One number a group, repeated to where the group's elements stand in the output."""
    if node.operator.base == "native_layer_norm":
        return shift.expand(output.shape) if shift.dim() == output.dim() else None
    if node.operator.base == "native_group_norm":
        rows = shift.reshape(output.shape[0], -1, 1)
        return rows.expand(-1, -1, output.numel() // rows.numel()).reshape(output.shape)
    return shift.reshape([1, -1, *[1] * (output.dim() - 2)]) if shift.numel() == output.shape[1] else None
