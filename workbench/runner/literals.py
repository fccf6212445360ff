"""Tensors and arguments as Python text: exact where they are small or their values are special, else random ones of the same kind."""

from __future__ import annotations

import math
from typing import Any

import torch

SMALL = 8
"""Elements up to which a tensor is always written out; sizes of larger ones can be shrunk where they are made by a shape."""
LARGEST = 1024
"""Elements up to which a tensor with special values (NaN, infinity, -0.0, huge ones) is written out."""
DEFAULTS = {torch.float32, torch.int64, torch.bool}
"""Dtypes that ``torch.tensor`` gives to Python values by itself."""


class Unwritable(Exception):
    """There is no text for it: an object, a submodule, a subclass."""


def tensor_text(tensor: torch.Tensor, *, exact: bool = False) -> str:
    """An expression for an equal tensor (``exact``, or it is small or special), or for a random one of the same shape, dtype and layout."""
    if tensor.layout is not torch.strided or tensor.is_quantized or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Unwritable(f"a {type(tensor).__name__} of layout {tensor.layout}")
    plain = tensor.detach()
    order = _order(plain)
    if order is None:
        text = _laid_out(plain, exact=exact)
    elif order == list(range(plain.dim())):
        text = _values(plain, exact=exact)
    else:
        inverse = [order.index(i) for i in range(len(order))]
        text = _values(plain.permute(order), exact=exact) + _permuted(inverse)
    return text + (".requires_grad_()" if tensor.requires_grad else "")


def _order(tensor: torch.Tensor) -> list[int] | None:
    """Dimensions from the outermost in memory inwards when the tensor is dense under some order, else None."""
    if tensor.is_contiguous():
        return list(range(tensor.dim()))
    order = sorted(range(tensor.dim()), key=lambda d: (-int(tensor.stride()[d]), d))
    return order if tensor.permute(order).is_contiguous() else None


def _permuted(order: list[int]) -> str:
    if order == [1, 0]:
        return ".t()"
    return f".permute({', '.join(map(str, order))})"


def _laid_out(tensor: torch.Tensor, *, exact: bool) -> str:
    """Expanded or gappy layouts: from the memory that they span."""
    size = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)) if tensor.numel() else 0
    span = tensor.as_strided((size,), (1,), tensor.storage_offset())
    return f"{_values(span, exact=exact)}.as_strided({tuple(tensor.shape)}, {tuple(tensor.stride())})"


def _values(tensor: torch.Tensor, *, exact: bool) -> str:
    shape = ", ".join(map(str, tensor.shape))
    dtype = "" if tensor.dtype in DEFAULTS else f", dtype={tensor.dtype}"
    if tensor.numel() == 0:
        return f"torch.empty({shape if tensor.dim() > 1 else tuple(tensor.shape)}{_dtype(tensor, torch.float32)})"
    same = _constant(tensor)
    if same is not None and tensor.numel() > 2:
        return same
    if tensor.numel() <= SMALL or (exact and tensor.numel() <= LARGEST) or (_special(tensor) and tensor.numel() <= LARGEST):
        return f"torch.tensor({_nested(tensor)}{dtype})"
    return _random(tensor, shape)


def _dtype(tensor: torch.Tensor, default: torch.dtype) -> str:
    return "" if tensor.dtype is default else f", dtype={tensor.dtype}"


def _constant(tensor: torch.Tensor) -> str | None:
    """``ones``, ``zeros``, ``full`` or ``arange`` where that is what it holds."""
    shape = ", ".join(map(str, tensor.shape))
    first = tensor.flatten()[0].item()
    if tensor.dtype is not torch.bool and not tensor.dtype.is_complex and tensor.dim() == 1 and first == 0:
        count = torch.arange(tensor.numel(), dtype=torch.float64)
        if bool((tensor.double() == count).all()):
            return f"torch.arange({tensor.numel()}{'.0' if tensor.dtype is torch.float32 else ''}{_dtype(tensor, _arange_dtype(tensor))})"
    if not bool((tensor == tensor.flatten()[0]).all()):
        return None
    if first in (0, 1) and not (isinstance(first, float) and math.copysign(1, first) < 0):
        return f"torch.{'ones' if first else 'zeros'}({shape or '()'}{_dtype(tensor, torch.float32)})"
    return f"torch.full(({shape},), {scalar_text(first)}{'' if tensor.dtype in DEFAULTS else f', dtype={tensor.dtype}'})"


def _arange_dtype(tensor: torch.Tensor) -> torch.dtype:
    return torch.float32 if tensor.dtype is torch.float32 else torch.int64


def _special(tensor: torch.Tensor) -> bool:
    if tensor.dtype.is_complex:
        return _special(torch.view_as_real(tensor.resolve_conj()))
    if not tensor.dtype.is_floating_point:
        return False
    wide = tensor.double()
    zeros = (wide == 0) & torch.signbit(wide)
    return bool((~torch.isfinite(wide)).any() or zeros.any() or (wide.abs() > 1e6).any())


def _random(tensor: torch.Tensor, shape: str) -> str:
    if tensor.dtype is torch.bool:
        return f"torch.rand({shape}) > 0.5"
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        low, high = int(tensor.min()), int(tensor.max())
        return f"torch.randint({low}, {high + 1}, ({shape},){_dtype(tensor, torch.int64)})"
    if not tensor.dtype.is_complex and bool((tensor >= 0).all()):
        return f"torch.rand({shape}{_dtype(tensor, torch.float32)})"
    return f"torch.randn({shape}{_dtype(tensor, torch.float32)})"


def _nested(tensor: torch.Tensor) -> str:
    if tensor.dim() == 0:
        return scalar_text(tensor.item(), single=tensor.dtype is torch.float32)
    return "[" + ", ".join(_nested(part) for part in tensor) + "]"


def scalar_text(value: Any, *, single: bool = False) -> str:
    """A Python number as text that reads back equal (``single``: equal as float32, with fewer digits)."""
    if isinstance(value, complex):
        return f"complex({scalar_text(value.real)}, {scalar_text(value.imag)})"
    if isinstance(value, float):
        if not math.isfinite(value):
            return f"float('{value}')"
        short = f"{value:.9g}"
        for digits in range(1, 9):
            text = f"{value:.{digits}g}"
            if _single(float(text)) == _single(value) if single else float(text) == value:
                short = text
                break
        text = short if single or float(short) == value else repr(value)
        return repr(float(text))
    return repr(value)


def _single(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float32).item())


def argument_text(value: Any, names: dict[Any, str]) -> str:
    """An argument of a graph node. Nodes become their names."""
    if isinstance(value, torch.fx.Node):
        return names[value]
    if isinstance(value, slice):
        return f"slice({', '.join(argument_text(p, names) for p in (value.start, value.stop, value.step))})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {argument_text(v, names)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(argument_text(v, names) for v in value) + "]"
    if isinstance(value, tuple):
        inner = ", ".join(argument_text(v, names) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, bool | int | float | complex):
        return scalar_text(value)
    if value is None or value is Ellipsis or isinstance(value, str):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return str(value)
    if isinstance(value, torch.device):
        return repr(str(value))
    raise Unwritable(f"an argument of type {type(value).__name__}")


def index_text(value: Any, names: dict[Any, str]) -> str:
    """What stands between square brackets."""
    if isinstance(value, tuple) and value:
        return ", ".join(index_text(v, names) for v in value) + ("," if len(value) == 1 else "")
    if isinstance(value, slice):
        start, stop, step = ("" if p is None else argument_text(p, names) for p in (value.start, value.stop, value.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return argument_text(value, names)
