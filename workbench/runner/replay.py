"""Running one node again in float64, beside the primal: never through a mode, never with an effect on a tensor of the program.

The caller says what stands for each operand; everything else (masks, indices, integers, Python numbers) is the primal's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from .node import SELECTING, SELECTING_POOLS, SPECTRAL, Node, floating, mapped, tensors_in

Substitute = Callable[[Tensor], Tensor]


class ReplayError(Exception):
    """The replay raised, or gave another dtype or shape than the primal. ``args[0]`` says which."""


@contextmanager
def in_float64() -> Iterator[None]:
    """No grad, and Python numbers, means of integers and the like become float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(before)


def upcast(tensor: Tensor) -> Tensor:
    """A copy in float64 or complex128, conj and neg bits resolved. Never shares memory with the tensor."""
    return tensor.detach().to(torch.complex128 if tensor.is_complex() else torch.float64, copy=True).resolve_conj().resolve_neg()


def replay(node: Node, substitute: Substitute, results: list[Tensor], fresh: list[int]) -> list[Tensor]:
    """What the node gives for other operands, one tensor a result of the primal (``Node.results``), in the same order.

    ``substitute`` stands in for every floating operand, and for every integer operand that the node writes. Integer results are the primal's.
    """
    with in_float64():
        try:
            if _selects(node, results):
                values = _selected(node, substitute, results)
            else:
                written = {id(t) for t in node.written}
                stand: Substitute = lambda t: substitute(t) if floating(t) or id(t) in written else t  # noqa: E731
                values = called(node, stand, wide, fresh, _constants(node, results))
                if node.operator.base in SPECTRAL and len(values) == len(results):
                    values = _aligned(values, results, SPECTRAL[node.operator.base])
        except Exception as error:
            raise ReplayError("raised") from error
    if len(values) != len(results):
        raise ReplayError("structure")
    for i, (result, value) in enumerate(zip(results, values, strict=True)):
        if not floating(result):
            values[i] = result
        elif value.shape != result.shape:
            raise ReplayError("shape")
        elif value.dtype != wide(result.dtype):
            raise ReplayError("dtype")
    return values


def called(
    node: Node, stand: Substitute, widen: Callable[[torch.dtype], torch.dtype], fresh: list[int], constants: torch.dtype | None = None
) -> list[Tensor]:
    """Calls the operator with other operands and other dtypes; one tensor a result of the primal. Both functions must spare what they do not change.

    ``constants``: Python floats among the arguments are rounded to this dtype first.
    """
    stands: dict[int, Tensor] = {}
    outs = {id(t): torch.empty(0, dtype=widen(t.dtype), device=t.device) for t in node.outs}

    def change(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return widen(value)
        if constants is not None and isinstance(value, float):
            return torch.tensor(value, dtype=constants).item()
        if not isinstance(value, Tensor):
            return value
        if id(value) not in stands:
            stands[id(value)] = stand(value)
        return stands[id(value)]

    args = mapped(list(node.args), change)
    # An operand may be its own ``out=``: the new one must not hide what it holds.
    kwargs = {n: mapped(v, (lambda t: outs[id(t)]) if n in node.operator.outs else change) for n, v in node.kwargs.items()}
    if node.operator.base in ("_softmax", "_log_softmax"):
        args[2] = False  # half_to_float: everything is float64 already
    returned = list(tensors_in(node.func(*args, **kwargs)))
    return [*(stands[id(t)] for t in node.written), *(outs[id(t)] for t in node.outs), *(returned[i] for i in fresh)]


def _constants(node: Node, results: list[Tensor]) -> torch.dtype | None:
    """What a moving operator rounds a Python float to (``fill_(0.1)``): a constant of the program, not a rounding that may differ."""
    first = results[0].dtype
    return first if node.kind == "moving" and first.is_floating_point else None


def wide(dtype: torch.dtype) -> torch.dtype:
    """float64 for floats, complex128 for complex numbers, others as they are."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def _aligned(values: list[Tensor], results: list[Tensor], spectrum: int) -> list[Tensor]:
    """Vectors with the sign or phase of the primal's: columns beside the values, rows where they follow them (``Vh``)."""
    aligned = list(values)
    for i, (value, result) in enumerate(zip(values, results, strict=True)):
        if i == spectrum or value.shape != result.shape or value.dim() < 2:
            continue
        dim = -1 if i > spectrum > 0 else -2
        # conj() would only set a bit, which nobody reads inside a dispatch mode
        along = (torch.conj_physical(value) * upcast(result)).sum(dim, keepdim=True)
        aligned[i] = value * torch.where(along == 0, torch.ones_like(along), torch.sgn(along))
    return aligned


def _selects(node: Node, results: list[Tensor]) -> bool:
    base = node.operator.base
    return len(results) == 2 and (base in SELECTING or base in SELECTING_POOLS) and not node.written and floating(results[0])


def _selected(node: Node, substitute: Substitute, results: list[Tensor]) -> list[Tensor]:
    source, indices = substitute(node.args[0]), results[1]
    if node.operator.base in SELECTING_POOLS:
        rank = SELECTING_POOLS[node.operator.base]
        flat = indices.flatten(-rank)
        return [source.flatten(-rank).gather(-1, flat).view(indices.shape), indices]
    if source.dim() == 0:
        return [source.clone(), indices]
    dim = node.dimension
    if indices.dim() == source.dim():
        return [source.gather(dim, indices), indices]
    return [source.gather(dim, indices.unsqueeze(dim)).squeeze(dim), indices]
