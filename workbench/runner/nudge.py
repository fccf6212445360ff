"""A dispatch mode that moves the results of inexact nodes by as much as another, equally right order of operations could.

The plan is a shadow's: index and name of each node must agree, or the node is left alone and counted. Exact elements never move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from .exactness import Again, exact_elements, magnitudes
from .image import overlaps
from .node import DECISIONS, FACTORIES, Node, abstract, desugars, floating, plain, real_dtype
from .orders import NORMALISING, centred, growth, terms
from .replay import ReplayError, replay, upcast

SPREADS = frozenset({"var", "std", "var_mean", "std_mean"})
MANY_ROWS = 25
"""ATen's own limit, above which ``cdist`` multiplies matrices unless told otherwise."""


class Nudge(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Enter it around an eager run, backward included, in a fresh process of the same program.

    seed:   decides every step; even seeds and odd seeds move accumulating operators in two ways
    plan:   ``Shadow.plan``
    counts: nodes, perturbed, mismatched (left alone), and replays that failed (moved by one ulp of the result instead)
    """

    supports_higher_order_operators = True

    def __init__(self, seed: int, plan: Sequence[Sequence[str]]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter(nodes=0, perturbed=0, mismatched=0)
        self._seed = seed
        self._plan = plan

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if any(abstract(t) for t in types):
            return func(*args, **kwargs)
        if any(desugars(t) for t in types):
            return NotImplemented
        node = Node(func, args, kwargs, self.counts["nodes"])
        self.counts["nodes"] += 1
        name, exactness = self._plan[node.index] if node.index < len(self._plan) else ("", "exact")
        if name != node.operator.name:
            self.counts["mismatched"] += 1
            return node()
        if exactness == "exact":
            return node()
        with torch._C.DisableTorchFunction():
            before = self._before(node, exactness)
        if node.operator.opaque:
            output = node()
        else:
            with torch._C.DisableTorchFunction():  # a function mode of the program must not see the calls made here
                output = node()
        with torch._C.DisableTorchFunction():
            try:
                self._move(node, output, before, partial=exactness == "partial")
            except Exception:  # never let the bookkeeping look like an error of the program
                self.counts["failed"] += 1
        return output

    def _before(self, node: Node, exactness: str) -> _Before | None:
        """The operands where a replay will need them: to find the exact elements, or for what accumulates."""
        once = node.operator.opaque or node.operator.base in FACTORIES or node.draws or node.operator.gauged
        needed = exactness != "inexact" or node.kind == "accumulating" or node.formula
        if once or not needed or not all(plain(t) for t in node.operands):
            return None
        return _Before(node)

    def _move(self, node: Node, output: Any, before: _Before | None, *, partial: bool) -> None:
        results, fresh = node.results(output)
        steps = _Steps(self._seed, node.index)
        exact = self._exact(node, before, results, fresh) if partial and before is not None else None
        inside = before is not None and (node.kind == "accumulating" or (node.formula and self._seed % 2 == 1))
        moved = self._accumulated(node, before, results, fresh, steps) if before is not None and inside else None
        decision = DECISIONS.get(node.operator.base)
        for i, result in enumerate(results):
            if floating(result) and i != decision and not overlaps(result):
                value = moved[i] if moved is not None else _stepped(upcast(result), real_dtype(result), steps)
                _write(result, value, exact[i] if exact is not None else None)
        self.counts["perturbed"] += 1

    def _exact(self, node: Node, before: _Before, results: list[Tensor], fresh: list[int]) -> list[Tensor] | None:
        again = before.again(results, fresh)
        try:
            return exact_elements(node, results, again(lambda t: t), before.operands, again, before.written)
        except ReplayError:
            self.counts["failed"] += 1
            return None

    def _accumulated(self, node: Node, before: _Before, results: list[Tensor], fresh: list[int], steps: _Steps) -> list[Tensor] | None:
        """The results of an accumulating operator, moved by what another order of its sums can do. None: one ulp has to do."""
        again = before.again(results, fresh)
        inner = torch.float64 if any(real_dtype(r) == torch.float64 for r in results if floating(r)) else torch.float32
        if self._seed % 2 == 0:
            if not node.sums:
                return None
            if node.operator.base in SPREADS and not any(t.is_complex() for t in before.operands):
                return self._spread(node, again, inner, results, steps)
            if _by_products(node):
                return [_far(before.operands, results[0], steps)]
            sizes = magnitudes(again)
            if sizes is None:
                self.counts["failed"] += 1
                return None
            grown = growth(terms(node, results)) * torch.finfo(inner).eps
            moved = [_within(r, size, steps, grown) if floating(r) else r for r, size in zip(results, sizes, strict=True)]
            return centred(node, results, moved) if node.operator.base in NORMALISING else moved
        try:
            return again(lambda t: _stepped(t, inner, steps))
        except ReplayError:
            self.counts["failed"] += 1
            return None

    def _spread(self, node: Node, again: Again, inner: torch.dtype, results: list[Tensor], steps: _Steps) -> list[Tensor] | None:
        """Every operand element one ulp away from the mean, or towards it: as far as a running variance of numbers far from zero can be off."""
        dim = node.argument("dim")
        direction = 1.0 if self._seed % 4 == 0 else -1.0

        def change(wide: Tensor) -> Tensor:
            dims = dim if isinstance(dim, list | tuple) and dim else list(range(wide.dim()))
            away = torch.sign(wide - wide.mean(dims, keepdim=True)) if wide.dim() else torch.zeros_like(wide)
            return wide + direction * away * _ulp(wide, inner)

        sizes = magnitudes(again)
        try:
            moved = again(change)
        except ReplayError:
            self.counts["failed"] += 1
            return None
        if sizes is not None and len(results) == 2:  # the mean beside the variance does not move with elements that move both ways
            moved[1] = _within(results[1], sizes[1], steps, growth(terms(node, results)) * torch.finfo(inner).eps)
        return moved


class _Before:
    """The operands of one node before it runs, upcast."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._floats = {id(t): upcast(t) for t in node.floats}
        self._integers = {id(t): t.clone() for t in node.written if not floating(t)}
        self.operands = list(self._floats.values())
        self.written = {i: self._floats[id(t)] for i, t in enumerate(node.written) if floating(t)}

    def again(self, results: list[Tensor], fresh: list[int]) -> Again:
        written = {id(t) for t in self._node.written}

        def run(change: Callable[[Tensor], Tensor]) -> list[Tensor]:
            def operand(tensor: Tensor) -> Tensor:
                if id(tensor) not in self._floats:
                    return self._integers[id(tensor)].clone()
                value = change(self._floats[id(tensor)])
                return value.clone() if id(tensor) in written else value

            return replay(self._node, operand, results, fresh)

        return run


TOGETHER = {24: 1, 26: -1, 28: 0, 30: 0}
"""Seeds whose steps go together: all up, all down, and by the value that is moved."""


class _Steps:
    """-1, 0 or +1 for each element, from a generator of its own: the program's random stream is not ours to advance."""

    def __init__(self, seed: int, index: int) -> None:
        self._seed = seed
        self._generator = torch.Generator().manual_seed(seed * 1_000_003 + index)

    def like(self, wide: Tensor) -> Tensor:
        """For a seed of ``TOGETHER`` one step for all elements, or one for all equal ones: another order of a sum errs the same way everywhere,
        and what is counted afterwards moves further than by chance.
        """
        if self._seed in TOGETHER:
            sign = TOGETHER[self._seed]
            return torch.full_like(wide, sign) if sign else _mixed(wide, self._seed * 1_000_003)
        return torch.randint(-1, 2, wide.shape, generator=self._generator, dtype=torch.int8, device="cpu").to(wide.device, wide.dtype)


def _mixed(wide: Tensor, salt: int) -> Tensor:
    """-1 or +1, the same for the same value, else as good as random."""
    bits = torch.view_as_real(wide.contiguous()).sum(-1) if wide.is_complex() else wide
    scrambled = (bits.contiguous().view(torch.int64) ^ salt) * 0x2545F4914F6CDD1D
    return ((scrambled >> 40) & 1).to(wide.dtype) * 2 - 1


def _stepped(wide: Tensor, dtype: torch.dtype, steps: _Steps) -> Tensor:
    """Each (real, imaginary) part moved by a step of one ulp of ``dtype``. Zeros stay: what rounds to one is exact, and any step from it is huge."""
    if wide.is_complex():
        return torch.view_as_complex(_stepped(torch.view_as_real(wide.contiguous()), dtype, steps))
    return torch.where(wide == 0, wide, wide + steps.like(wide) * _ulp(wide, dtype))


def _ulp(wide: Tensor, dtype: torch.dtype) -> Tensor:
    _, exponent = torch.frexp(wide)
    info = torch.finfo(dtype)
    return torch.ldexp(torch.full_like(wide, info.eps), exponent - 1).clamp(min=info.tiny * info.eps)


def _within(result: Tensor, size: Tensor, steps: _Steps, grown: float) -> Tensor:
    """Moved by a step of eps (``grown``, where that is more) times the larger of the result and what was summed up for it."""
    wide = upcast(result)
    reach = max(torch.finfo(result.dtype).eps, grown) * torch.maximum(wide.abs(), size.nan_to_num(0.0, 0.0, 0.0))
    if wide.is_complex():
        return wide + torch.complex(steps.like(reach) * reach, steps.like(reach) * reach)
    return wide + steps.like(wide) * reach


def _by_products(node: Node) -> bool:
    """A distance by x*x + y*y - 2*x*y (ATen does so for many rows): near zero the root of what those three round to."""
    if node.operator.base == "_euclidean_dist":
        return True
    if node.operator.base != "_cdist_forward" or node.argument("p") != 2.0:
        return False
    mode = node.argument("compute_mode")
    many = any(t.dim() > 1 and t.shape[-2] > MANY_ROWS for t in node.floats)
    return mode == 1 or (not mode and many)


def _far(operands: Sequence[Tensor], result: Tensor, steps: _Steps) -> Tensor:
    """Distances whose squares moved by a step of eps times all that was summed up for them."""
    left, right = operands[0].abs(), operands[-1].abs()
    size = left.square().sum(-1, keepdim=True) + right.square().sum(-1, keepdim=True).mT + 2 * (left @ right.mT)
    wide = upcast(result)
    return (wide.square() + steps.like(wide) * torch.finfo(result.dtype).eps * size).clamp(min=0.0).sqrt()


def _write(result: Tensor, value: Tensor, exact: Tensor | None) -> None:
    wide = upcast(result)
    movable = wide.isfinite() & ~value.isnan()
    if exact is not None:
        movable &= ~exact
    result.copy_(torch.where(movable, value, wide))
