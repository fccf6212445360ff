"""The grad rule of DESIGN §2: which inputs get ``requires_grad``, the cotangents, and where gradients are found afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _python_dispatch, _pytree

from .describe import Describer
from .observe import kind_of

IN_PLACE_ON_LEAF = ("a leaf Variable that requires grad", "a view of a leaf Variable that requires grad")
"""What eager says when a program writes in place into an input that only the grad rule made a leaf."""

GOLDEN = (math.sqrt(5) - 1) / 2


def tensors_in(value: Any, path: str) -> list[tuple[str, torch.Tensor]]:
    """Every tensor below ``value`` with its path, each object once."""
    found: list[tuple[str, torch.Tensor]] = []
    seen: set[int] = set()

    def collect(tensor: torch.Tensor, where: str) -> None:
        if id(tensor) not in seen:
            seen.add(id(tensor))
            found.append((where, tensor))

    Describer(collect).describe(value, path)
    return found


def require(inputs: Sequence[Any], leaf: str) -> tuple[Sequence[Any], list[tuple[str, torch.Tensor]]]:
    """Inputs as the callable gets them, and the leaves whose gradients are observed.

    If no floating input requires grad, the floating leaf inputs do. ``leaf="clone"``: the callable gets a non-leaf clone of each, over a
    copy of its memory with the same strides, offset and sharing.
    """
    tensors = tensors_in(inputs, "inputs")
    floating = [(p, t) for p, t in tensors if t.is_floating_point()]
    if any(t.requires_grad for _, t in floating):
        return inputs, [(p, t) for p, t in tensors if t.requires_grad and t.is_leaf]
    leaves = [(p, t) for p, t in floating if t.is_leaf and _require(t)]
    if leaf != "clone":
        return inputs, leaves
    copies = clones([t for _, t in leaves])
    replaced = _pytree.tree_map_only(torch.Tensor, lambda t: copies.get(id(t), t), inputs)
    return replaced, leaves


def _require(tensor: torch.Tensor) -> bool:
    try:
        tensor.requires_grad_()
    except RuntimeError:  # an inference tensor, say
        return False
    return True


class Clone(torch.autograd.Function):
    """Gives a tensor made elsewhere as the differentiable copy of a leaf. It comes inside a list: as an argument it would be returned as a view."""

    @staticmethod
    def forward(ctx: Any, leaf: torch.Tensor, copy: list[torch.Tensor]) -> torch.Tensor:
        return copy[0]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return gradient, None


def clones(leaves: Sequence[torch.Tensor]) -> dict[int, torch.Tensor]:
    """Non-leaf copies by ``id`` of the leaf; leaves that share memory get copies that share memory in the same way."""
    copies: dict[int, torch.Tensor] = {}
    storages: dict[int, torch.UntypedStorage] = {}
    for leaf in leaves:
        if kind_of(leaf) != "dense":
            copies[id(leaf)] = leaf.clone()
            continue
        copies[id(leaf)] = Clone.apply(leaf, [same_layout(leaf, leaf.device, storages)])  # type: ignore[no-untyped-call]
    return copies


def same_layout(tensor: torch.Tensor, device: torch.device | str, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    """A copy with the same strides and offset; ``storages`` carries the sharing from one call to the next."""
    source = tensor.untyped_storage()
    if source.data_ptr() not in storages or source.data_ptr() == 0:
        raw = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(source)
        storages[source.data_ptr()] = raw.to(device, copy=True).untyped_storage()
    empty = torch.empty(0, dtype=tensor.dtype, device=device)
    storage = storages[source.data_ptr()]
    copy: torch.Tensor = empty.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    if tensor.is_conj():
        copy = torch._conj(copy)
    return torch._neg_view(copy) if tensor.is_neg() else copy


def backward(result: Any) -> int:
    """Run backward over every differentiable tensor in ``result``; how many there were."""
    outputs: list[torch.Tensor] = []
    cotangents: list[torch.Tensor] = []
    for index, (_, tensor) in enumerate(tensors_in(result, "return")):
        if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex()):
            outputs.append(tensor)
            cotangents.append(cotangent(tensor, index))
    if outputs:
        torch.autograd.backward(outputs, cotangents)
    return len(outputs)


def cotangent(output: torch.Tensor, index: int) -> torch.Tensor:
    """A fixed tensor like ``output``, not constant: multiples of 1/64 in [0.5, 1.5), which bfloat16 and wider types hold exactly."""
    if kind_of(output) != "dense":
        return torch.ones_like(output.detach())
    with _python_dispatch._disable_current_modes():  # ours, not the program's: a nudge must not move it
        steps = torch.arange(1, output.numel() + 1, dtype=torch.float64, device=output.device)
        values = _spread(steps, 0.17 * index)
        if output.is_complex():
            values = torch.complex(values, _spread(steps, 0.17 * index + 0.41))
        return values.reshape(output.shape).to(output.dtype)


def _spread(steps: torch.Tensor, shift: float) -> torch.Tensor:
    return torch.floor(torch.frac(steps * GOLDEN + shift) * 64) / 64 + 0.5
