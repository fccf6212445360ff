"""What the real operands of a run warn of (DESIGN §3): undefined or order-dependent behaviour, and values that few programs see.

Warnings never decide a verdict, so a false one only costs trust: each check looks at values, not at what an operator might do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .image import overlaps
from .node import Node, floating, plain, tensors_in
from .replay import called, in_float64, upcast

ARITHMETIC = frozenset(
    """add sub rsub mul neg negative abs pow square sum nansum prod cumsum cumprod mm bmm addmm baddbmm addbmm mv addmv dot vdot addcmul trace
    floor_divide div""".split()  # noqa: SIM905
)
LEFT = frozenset({"bitwise_left_shift", "__lshift__", "__ilshift__"})
SHIFTS = LEFT | {"bitwise_right_shift", "__rshift__", "__irshift__"}
PUTS = frozenset({"index_put", "_index_put_impl", "_unsafe_index_put"})
DIVISORS = {
    "div": (1,),
    "true_divide": (1,),
    "floor_divide": (1,),
    "reciprocal": (0,),
    "rsqrt": (0,),
    "signbit": (0,),
    "copysign": (1,),
    "atan2": (0, 1),
    "addcdiv": (2,),
}
EXTREME = 1e30


class Operands:
    """Collects warnings node by node: ``before`` the primal runs, ``watched`` runs it, ``after`` looks at what it did."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self.warnings: dict[str, dict[str, Any]] = {}
        self._integers: dict[int, Tensor] = {}

    def before(self, node: Node) -> None:
        """Whatever a write of the node would hide."""
        base = node.operator.base
        self._integers = {}
        if (base in ARITHMETIC or base in SHIFTS) and any(_integer(t) for t in node.operands):
            self._integers = {id(t): t.to(torch.float64, copy=True) for t in node.operands if not floating(t)}
        self._try(self._casts, node)
        if base in DIVISORS or base == "pow":
            self._try(self._signed_zeros, node)

    def watched(self, node: Node) -> Any:
        """Runs the primal; what it raises is passed on."""
        try:
            return node()
        except RuntimeError:
            if node.operator.base == "as_strided":
                self._try(self._strides_beyond, node)
            raise

    def after(self, node: Node, output: Any) -> None:
        """Whatever is an error only if the node runs at all."""
        if self._integers:
            self._try(lambda n: self._overflow(n, output), node)
            self._integers = {}
        self._try(self._duplicates, node)
        if node.operator.base not in ("fill", "zero"):  # one value everywhere: no order to depend on
            for tensor in (*node.written, *node.outs):
                if plain(tensor) and overlaps(tensor):
                    self._note("overlapping_memory", node, shape=list(tensor.shape), stride=list(tensor.stride()))

    def leaf(self, tensor: Tensor) -> None:
        """A tensor that no node made is read for the first time."""
        values = upcast(tensor).abs()
        counts = {"infinite": int(values.isinf().sum()) if tensor.dim() else 0, "huge": int(((values > EXTREME) & ~values.isinf()).sum())}
        if tensor.element_size() > 2 or tensor.dtype == torch.bfloat16:  # float16 reaches its subnormals in ordinary programs
            counts["subnormal"] = int(((values > 0) & (values < torch.finfo(tensor.dtype).tiny)).sum())
        if any(counts.values()):
            largest = float(values[values.isfinite()].max()) if bool(values.isfinite().any()) else None
            self._add(
                "extreme_values",
                {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "largest": largest, **counts},
            )

    def beyond(self, node: Node) -> bool:
        """An operand reaches beyond its storage (warns)."""
        for tensor in node.operands:
            if tensor.numel() and plain(tensor):
                elements = 1 + tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
                if elements * tensor.element_size() > tensor.untyped_storage().nbytes():
                    self._note("beyond_storage", node, bytes=elements * tensor.element_size(), storage=tensor.untyped_storage().nbytes())
                    return True
        return False

    def _add(self, warning: str, evidence: dict[str, Any]) -> None:
        self.warnings.setdefault(warning, {**evidence, "nodes": 0})["nodes"] += 1

    def _note(self, warning: str, node: Node, **evidence: Any) -> None:
        self._add(warning, {"op": node.operator.name, "node": node.index, **evidence})

    def _try(self, check: Callable[[Node], None], node: Node) -> None:
        try:
            check(node)
        except Exception:  # a warning is not worth an error in the program
            self._counts[f"unchecked {node.operator.name}"] += 1

    def _strides_beyond(self, node: Node) -> None:
        size, stride, tensor = node.argument("size"), node.argument("stride"), node.args[0]
        offset = node.argument("storage_offset")
        start = tensor.storage_offset() if offset is None else offset
        needed = (1 + start + sum((n - 1) * s for n, s in zip(size, stride, strict=True))) * tensor.element_size()
        if needed > tensor.untyped_storage().nbytes():
            self._note("beyond_storage", node, bytes=needed, storage=tensor.untyped_storage().nbytes())

    def _casts(self, node: Node) -> None:
        target, sources = None, node.floats
        if node.operator.base == "copy" and _integer(node.args[0]):
            target, sources = node.args[0].dtype, [t for t in node.floats if t is not node.args[0]]
        elif isinstance(node.argument("dtype"), torch.dtype) and node.operator.base != "view":
            target = node.argument("dtype")
        if target is None or target == torch.bool or target.is_floating_point or target.is_complex:
            return
        limits = torch.iinfo(target)
        for source in sources:
            if source.is_complex():
                continue
            values = upcast(source)
            outside = ~values.isfinite() | (values.trunc() < float(limits.min)) | (values.trunc() >= float(limits.max) + 1.0)
            if bool(outside.any()):
                first = float(values[outside].flatten()[0])
                self._note(
                    "out_of_range_cast", node, dtype=str(target).removeprefix("torch."), elements=int(outside.sum()), value=str(first)
                )

    def _signed_zeros(self, node: Node) -> None:
        if node.operator.base == "pow":
            exponent = node.args[1] if len(node.args) > 1 else None
            if isinstance(exponent, Tensor):
                negative = not exponent.is_complex() and bool((exponent < 0).any())
            else:
                negative = isinstance(exponent, int | float) and exponent < 0
            positions: tuple[int, ...] = (0,) if negative else ()
        else:
            positions = DIVISORS[node.operator.base]
        for position in positions:
            for tensor in tensors_in(node.args[position] if position < len(node.args) else None):
                if floating(tensor) and not tensor.is_complex():
                    zeros = int(((tensor == 0) & torch.signbit(tensor)).sum())
                    if zeros:
                        self._note("signed_zero", node, elements=zeros)

    def _overflow(self, node: Node, output: Any) -> None:
        results, fresh = node.results(output)
        if not any(_integer(t) for t in results):
            return
        if node.operator.base in SHIFTS:
            self._shift(node, results)
            return
        stands = self._integers
        with in_float64():
            truths = called(node, lambda t: stands.get(id(t), t), lambda d: d if d.is_complex else torch.float64, fresh)
        for result, truth in zip(results, truths, strict=True):
            if _integer(result):
                self._wrapped(node, result, truth)

    def _wrapped(self, node: Node, result: Tensor, truth: Tensor) -> None:
        # A wrapped result is a multiple of 2**bits away from the truth; float64 is off by far less than half of one.
        wrapped = ~((truth - result.to(torch.float64)).abs() < 2.0 ** (torch.iinfo(result.dtype).bits - 1))
        if bool(wrapped.any()):
            evidence = {"dtype": str(result.dtype).removeprefix("torch."), "elements": int(wrapped.sum())}
            self._note("overflow", node, **evidence, got=int(result[wrapped].flatten()[0]), exact=str(float(truth[wrapped].flatten()[0])))

    def _shift(self, node: Node, results: list[Tensor]) -> None:
        value, by = (self._integers[id(a)] if isinstance(a, Tensor) else float(a) for a in node.args[:2])
        bits = torch.iinfo(results[0].dtype).bits
        by = torch.as_tensor(by, dtype=torch.float64)
        outside = (by < 0) | (by >= bits)
        truth = value * 2.0**by if node.operator.base in LEFT else torch.floor(value / 2.0**by)
        truth = torch.where(outside, torch.full_like(truth, float("inf")), truth)
        self._wrapped(node, results[0], truth)

    def _duplicates(self, node: Node) -> None:
        written = _targets(node)
        if written is None:
            return
        targets, values = written
        if targets.numel() < 2:
            return
        order = targets.flatten().argsort(stable=True)
        places, values = targets.flatten()[order], values.expand(targets.shape).flatten()[order]
        twice = places[1:] == places[:-1]
        differ = twice & (values[1:] != values[:-1]) & ~((values[1:] != values[1:]) & (values[:-1] != values[:-1]))
        if bool(differ.any()):
            self._note("duplicate_indices", node, elements=int(differ.sum()), place=int(places[1:][differ][0]))


def _targets(node: Node) -> tuple[Tensor, Tensor] | None:
    """Where the node writes without accumulating, as flat places of the written tensor, and what."""
    base = node.operator.base
    if base in PUTS and not node.argument("accumulate"):
        places = torch.arange(node.args[0].numel(), device=node.args[0].device).view(node.args[0].shape)
        return torch.ops.aten.index.Tensor(places, node.args[1]), node.argument("values")
    if base == "scatter" and isinstance(node.argument("src"), Tensor) and node.argument("reduce") is None:
        index, source = node.argument("index"), node.argument("src")
        places = torch.arange(node.args[0].numel(), device=index.device).view(node.args[0].shape)
        return places.gather(node.argument("dim"), index), source[tuple(slice(n) for n in index.shape)]
    if base == "index_copy":
        places = torch.arange(node.args[0].numel(), device=node.args[0].device).view(node.args[0].shape)
        return places.index_select(node.argument("dim"), node.argument("index")), node.argument("source")
    if base == "put" and not node.argument("accumulate"):
        return node.argument("index") % max(1, node.args[0].numel()), node.argument("source").view(node.argument("index").shape)
    return None


def _integer(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and not (value.dtype.is_floating_point or value.dtype.is_complex or value.dtype == torch.bool)
        and plain(value)
    )
