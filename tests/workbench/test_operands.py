"""What the real operands of a run warn of: each warning with a twin one step away that must not give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
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


def tensor(*values: Any, dtype: torch.dtype | None = None) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def put(target: Tensor, index: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    return target.index_put_((index,), values, accumulate=accumulate)


@pytest.mark.parametrize(
    ("warning", "program", "twin"),
    [
        ("overflow", lambda: tensor(250, dtype=torch.uint8) + 10, lambda: tensor(240, dtype=torch.uint8) + 10),
        ("overflow", lambda: tensor(2**62) * 2, lambda: tensor(2**61) * 2),
        ("overflow", lambda: tensor(2**63 - 1).add_(1), lambda: tensor(2**63 - 2).add_(1)),
        ("overflow", lambda: tensor(-128, dtype=torch.int8).abs(), lambda: tensor(-127, dtype=torch.int8).abs()),
        ("overflow", lambda: tensor(200, 100, dtype=torch.uint8).sum(dtype=torch.uint8), lambda: tensor(200, 100, dtype=torch.uint8).sum()),
        ("overflow", lambda: tensor(1) << 64, lambda: tensor(1) << 62),
        ("overflow", lambda: tensor(10, 10).pow(19), lambda: tensor(10, 10).pow(18)),
        ("out_of_range_cast", lambda: tensor(300.0).to(torch.uint8), lambda: tensor(255.9, -0.9).to(torch.uint8)),
        ("out_of_range_cast", lambda: tensor(float("nan")).long(), lambda: tensor(float("nan")).bool()),
        ("out_of_range_cast", lambda: tensor(0).copy_(tensor(2.0**63)[0]), lambda: tensor(0).copy_(tensor(-(2.0**63))[0])),
        (
            "duplicate_indices",
            lambda: put(torch.zeros(3), tensor(1, 1), tensor(2.0, 3.0), False),
            lambda: put(torch.zeros(3), tensor(1, 1), tensor(2.0, 3.0), True),
        ),
        (
            "duplicate_indices",
            lambda: put(torch.zeros(3), tensor(-1, 2), tensor(2.0, 3.0), False),
            lambda: put(torch.zeros(3), tensor(1, 1), tensor(2.0, 2.0), False),
        ),
        (
            "duplicate_indices",
            lambda: torch.zeros(3).scatter(0, tensor(1, 1), normal(2)),
            lambda: torch.zeros(3).scatter_add(0, tensor(1, 1), normal(2)),
        ),
        (
            "duplicate_indices",
            lambda: torch.zeros(3).index_copy(0, tensor(2, 2), normal(2)),
            lambda: torch.zeros(3).index_copy(0, tensor(2, 1), normal(2)),
        ),
        (
            "overlapping_memory",
            lambda: put(torch.zeros(9).as_strided((3, 3), (2, 1)), tensor(0, 1), torch.ones(3), True),
            lambda: torch.zeros(1).expand(3).fill_(1),
        ),
        ("extreme_values", lambda: tensor(1e31) * 2, lambda: tensor(1e29) * 2),
        ("extreme_values", lambda: tensor(float("inf")) * 2, lambda: normal(3, 3).masked_fill(torch.eye(3) > 0, float("-inf")).softmax(0)),
        ("extreme_values", lambda: tensor(1e-40) * 2, lambda: tensor(1e-6, dtype=torch.float16) * 2),
        ("signed_zero", lambda: 1 / tensor(0.0, -0.0), lambda: 1 / tensor(0.0, 1.0) + tensor(-0.0)),
        ("signed_zero", lambda: tensor(-0.0) ** -1, lambda: tensor(-0.0) ** 2),
        ("signed_zero", lambda: torch.copysign(tensor(1.0), tensor(-0.0)), lambda: F.relu(tensor(-0.0)) * -1.0),
    ],
)
def test_warning_with_numbers_and_none_for_its_twin(warning: str, program: Program, twin: Program) -> None:
    evidence = shadowed(program)[1].warnings
    assert list(evidence) == [warning]
    assert evidence[warning]["nodes"] == 1
    assert set(evidence[warning]) > {"nodes"}
    assert shadowed(twin)[1].warnings == {}


def test_strides_beyond_the_storage_are_told_though_eager_raises() -> None:
    def program(size: int) -> Program:
        def run_it() -> bool:
            try:
                normal(3).as_strided((size,), (1,))
            except RuntimeError:
                return True
            return False

        return run_it

    raised, shadow = shadowed(program(5))
    assert raised
    assert shadow.warnings["beyond_storage"]["bytes"] == 20
    assert shadowed(program(3))[1].warnings == {}
