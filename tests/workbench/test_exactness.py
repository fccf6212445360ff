"""Exact is only what is moved or counted: everything else another order of operations may round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from workbench.runner.shadow import Shadow

pytestmark = pytest.mark.torch

Program = Callable[[], Any]


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Normal numbers made where no mode sees it."""
    with _disable_current_modes():
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def shadowed(program: Program) -> tuple[Any, Shadow]:
    shadow = Shadow()
    with shadow:
        return program(), shadow


def whole_sum() -> Tensor:
    return torch.arange(100, dtype=torch.float32).view(10, 10).sum(0) @ torch.ones(10)


def lucky_sum() -> Tensor:
    return torch.tensor([0.1, -0.1, 0.25, 0.5]).sum()  # equals the float64 sum, yet another order rounds


def huge_sum() -> Tensor:
    return torch.tensor([2.0**24, 2.0, -(2.0**24), 2.0]).sum()


@pytest.mark.parametrize(
    ("program", "exact"),
    [
        (whole_sum, True),
        (lucky_sum, False),
        (huge_sum, False),
        (lambda: normal(4, 4).t().contiguous().flip(0).masked_fill(torch.eye(4) > 0, 0.1).relu(), True),
        (lambda: normal(4) * 2.0, True),
        (lambda: normal(4) * 3.0, False),
        (lambda: normal(8, dtype=torch.float64).sort().values.roll(1), True),
        (lambda: normal(8, dtype=torch.float64) * 2, False),
        (lambda: torch.arange(8, dtype=torch.float64).cumsum(0) + 1, True),
        (lambda: torch.arange(1, 8, dtype=torch.float64) / 3, False),
        (lambda: torch.ones(3, dtype=torch.float64) * 2.0**52 + 1, False),
        (lambda: torch.full((3,), 0.1), True),
        (lambda: torch.linspace(0, 1, 7), False),
        (lambda: torch.arange(5.0), True),
        (lambda: normal(4).bfloat16(), False),
        (lambda: normal(4).bfloat16().float(), False),
        (lambda: torch.zeros(5).index_add_(0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0])), True),
    ],
)
def test_exact_only_what_is_moved_or_counted(program: Program, exact: bool) -> None:
    result, shadow = shadowed(program)
    assert shadow.exact(result) is exact
    assert shadow.facts["exact"] is exact


def test_exactness_is_inherited_by_integers_and_ends_where_memory_is_overwritten() -> None:
    x = normal(5)

    def program() -> Any:
        y = x.sin()
        return y.round().long() + 1, x[1:], y.zero_()

    (integers_, view, zeroed), shadow = shadowed(program)
    assert not shadow.exact(integers_)
    assert shadow.exact(view)
    assert shadow.exact(zeroed)
    assert shadow.image(integers_) is None
