"""A nudge moves what another order of operations could move, about as far, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from workbench.runner.nudge import Nudge
from workbench.runner.orders import growth
from workbench.runner.shadow import Shadow

pytestmark = pytest.mark.torch

Program = Callable[[], Any]
SEEDS = range(24)


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Normal numbers made where no mode sees it."""
    with _disable_current_modes():
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def planned(program: Program) -> list[list[str]]:
    torch.manual_seed(0)
    shadow = Shadow()
    with shadow:
        program()
    return json.loads(json.dumps(shadow.plan))  # type: ignore[no-any-return]


def nudged(program: Program, seed: int, plan: list[list[str]]) -> tuple[Any, Nudge]:
    torch.manual_seed(0)
    mode = Nudge(seed, plan)
    with mode:
        return program(), mode


def bounds(program: Program) -> tuple[Tensor, Tensor]:
    """Elementwise least and largest of eager and 24 seeds, float64."""
    plan = planned(program)
    runs = torch.stack([program().double(), *(nudged(program, seed, plan)[0].double() for seed in SEEDS)])
    return runs.amin(0), runs.amax(0)


def outside(program: Program, other: Tensor) -> int:
    """How many elements of another result no nudge reaches, within the tolerance that eager and compiled have."""
    low, high = bounds(program)
    rtol, atol = {torch.float32: (1.3e-6, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float16: (1e-3, 1e-5)}[other.dtype]
    slack = atol + rtol * torch.maximum(low.abs(), high.abs())
    return int(((other.double() < low - slack) | (other.double() > high + slack)).sum())


# Noise: another right way to compute the same ------------------------------------------------------------------------------

X = normal(64, 33) * 100 + 7
H = normal(40, 16, dtype=torch.bfloat16)


def cancelled_sum() -> Tensor:
    return (X.sum(0) - X.flip(0).sum(0) + X.mean(0) * 1e-3) * 1e4


def variance() -> Tensor:
    return 1 / (X * 1e-4 + 5).var(1)


FAR = normal(1200) + 1e5


def far_from_zero() -> Tensor:
    return FAR.std()


def running_spread() -> Tensor:
    """The same in one pass, as compiled code does it: mean and sum of squares are updated with each number."""
    mean = square = torch.zeros(())
    for count, number in enumerate(FAR, 1):
        step = number - mean
        mean = mean + step / count
        square = square + step * (number - mean)
    return (square / (len(FAR) - 1)).sqrt()


STEEP = torch.linspace(3.5, 4.6, 200)


def steep() -> Tensor:
    x = STEEP.clone().requires_grad_()
    torch.erfinv(x.tanh()).sum().backward()
    assert x.grad is not None
    return x.grad


def steep_in_steps() -> Tensor:
    """As a decomposition has it: the square is rounded before it is taken from one."""
    y = STEEP.tanh()
    return torch.erfinv(y).square().exp() * (torch.pi**0.5 / 2) * (1 - y * y)


def running_total() -> Tensor:
    return X.cumsum(0).sin()


def half_chain() -> Tensor:
    return (((H * 1.1).exp() - 1) * 0.3 + H).sum(1)


def floors() -> Tensor:
    return (X / 3 * 3 - X + 2).floor()


def softmax_of_products() -> Tensor:
    return (X @ X.t() / 1e3).softmax(-1)


def in_place() -> Tensor:
    y = torch.zeros(33)
    for row in X:
        y.add_(row, alpha=1 / 3)
    return (y - X.sum(0) / 3) * 1e3


def by_float64(program: Program) -> Tensor:
    """The program without any rounding but the last: as far as another right order can be from eager, or further."""
    global X, H
    kept = X, H
    X, H = X.double(), H.double()
    try:
        result = program()
    finally:
        X, H = kept
    return result.to(program().dtype)  # type: ignore[no-any-return]


@pytest.mark.parametrize("program", [variance, running_total, half_chain, floors, softmax_of_products], ids=lambda p: p.__name__)
def test_a_result_without_eagers_rounding_is_within_reach(program: Program) -> None:
    other = by_float64(program)
    assert not torch.equal(other, program())
    assert outside(program, other) <= 0.01 * other.numel()


@pytest.mark.parametrize(
    ("program", "other"),
    [
        (cancelled_sum, lambda: (X.view(2, 32, 33).sum(1).sum(0) - X.roll(5, 0).sum(0) + X.mean(0) * 1e-3) * 1e4),
        (far_from_zero, running_spread),
        (steep, steep_in_steps),
        (in_place, lambda: ((X / 3).view(4, 16, 33).sum(1).sum(0) - X.sum(0) / 3) * 1e3),
    ],
)
def test_another_order_of_a_cancelling_sum_is_within_reach(program: Program, other: Program) -> None:
    result = other()
    assert float((result - program()).abs().max()) > 1e-5
    assert outside(program, result) == 0


def test_a_distance_by_products_of_many_rows_is_uncertain_near_zero_and_that_of_few_is_not() -> None:
    """ATen multiplies matrices from 26 rows on: next to zero lies the root of what x*x + y*y - 2*x*y rounds to, and nothing larger."""
    few, many = normal(25, 3), normal(40, 3)
    apart = torch.cdist(many, many) + 3e-4 * torch.eye(40)
    assert outside(lambda: torch.cdist(many, many), apart) == 0
    assert outside(lambda: torch.cdist(many, many), apart + 3e-3 * torch.eye(40)) == 40
    assert outside(lambda: torch.cdist(many, many), apart + 1e-3 * (apart > 1)) == int((apart > 1).sum())
    assert outside(lambda: torch.cdist(few, few), torch.cdist(few, few) + 3e-4 * torch.eye(25)) == 25


def test_values_of_a_singular_matrix_move_as_far_as_its_rounding() -> None:  # pytorch#150114: the condition number of a matrix of ones
    x = torch.full((2, 2), 1.0)
    low, high = bounds(lambda: torch.linalg.cond(torch.atan(x)))
    assert high > 3 * low


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_vectors_keep_the_sign_or_phase_that_the_primal_chose(dtype: torch.dtype) -> None:
    a = normal(5, 5).to(dtype) @ normal(5, 5, seed=1).to(dtype) + (1j * normal(5, 5, seed=2) if dtype.is_complex else 0)
    plan = planned(lambda: torch.linalg.svd(a))
    for seed in SEEDS:
        for plain, moved in zip(torch.linalg.svd(a), nudged(lambda: torch.linalg.svd(a), seed, plan)[0], strict=True):
            torch.testing.assert_close(moved, plain, rtol=1e-4, atol=1e-5)
    assert not torch.equal(nudged(lambda: torch.linalg.svd(a), 1, plan)[0].U, torch.linalg.svd(a).U)


PLANE = normal(2, 4, 128, 256) + 50
SCALE = torch.tensor([1.0, 2.0, 0.5, 3.0])
NORMS = {
    "batch": (lambda x: F.batch_norm(x, None, None, SCALE, SCALE, training=True), (0, 2, 3), 1),
    "instance": (lambda x: F.instance_norm(x, weight=SCALE, bias=SCALE), (2, 3), 1),
    "group": (lambda x: F.group_norm(x, 2, SCALE, SCALE), (2, 3, 4), 2),
    "layer": (lambda x: F.layer_norm(x, [128, 256]), (2, 3), 0),
}
"""Each with the dimensions that it normalises over; the third number splits the channels, 0: no weights."""


def normalised_by_lanes(name: str) -> Tensor:
    """With the mean of a running sum in eight lanes of float32, as compiled code makes it (pytorch#142839)."""
    _, dims, split = NORMS[name]
    x = PLANE.unflatten(1, (2, 2)) if split == 2 else PLANE
    order = [d for d in range(x.dim()) if d not in dims]
    rows = x.permute(*order, *dims).reshape(*[x.shape[d] for d in order], -1, 8)
    mean = torch.from_numpy(np.add.accumulate(rows.numpy(), axis=-2, dtype=np.float32)[..., -1, :]).sum(-1) / (rows.shape[-2] * 8)
    shape = [x.shape[d] if d in order else 1 for d in range(x.dim())]
    apart = x - mean.reshape(shape)
    out = apart * (apart.square().mean(dims, keepdim=True) + 1e-5).rsqrt()
    scale = SCALE.view(-1, 1, 1)
    return out.reshape(PLANE.shape) * scale + scale if split else out


@pytest.mark.parametrize("name", NORMS)
def test_the_mean_that_a_normalisation_subtracts_is_as_uncertain_as_a_long_sum(name: str) -> None:
    program = NORMS[name][0]
    other = normalised_by_lanes(name)
    assert float((other - program(PLANE)).abs().max()) > 1.2e-5
    assert outside(lambda: program(PLANE), other) == 0
    assert outside(lambda: program(PLANE), program(PLANE) * 1.002) > 0.5 * other.numel()
    assert outside(lambda: program(PLANE), program(PLANE) + 1e-3) > 0.9 * other.numel()


def test_a_short_sum_is_no_more_uncertain_than_one_step() -> None:
    assert growth(500) == 1.0
    x = normal(4, 50) * 0.05 + 100
    assert outside(lambda: F.layer_norm(x, [50]), F.layer_norm(x, [50]) * (49 / 50) ** 0.5) > 100  # another correction


# Planted: wrong, if only a little ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "wrong"),
    [
        (lambda: F.layer_norm(normal(8, 16) * 0.01, [16]), lambda: F.layer_norm(normal(8, 16) * 0.01, [16], eps=1.2e-5)),
        (lambda: normal(8, 17).var(1), lambda: normal(8, 17).var(1, correction=0)),
        (lambda: normal(50, 40).sum(1), lambda: normal(50, 40)[:, :-1].sum(1)),
        (lambda: normal(50, 40).exp().cumsum(1), lambda: (normal(50, 40) * (1 + 1e-4)).exp().cumsum(1)),
        (lambda: (normal(30, 40) * 8).softmax(1).log(), lambda: (normal(30, 40) * 8).softmax(1).mul(1.001).log()),
        (lambda: FAR.std(), lambda: FAR.std() * 1.05),
        (steep, lambda: steep() * 1.01),
        (lambda: torch.linalg.inv(normal(6, 6)), lambda: torch.linalg.inv(normal(6, 6)) * (1 + 1e-3)),
        (lambda: torch.linalg.eigvalsh(normal(6, 6)), lambda: torch.linalg.eigvalsh(normal(6, 6)) * (1 + 1e-3)),
        (lambda: torch.linalg.svd(normal(6, 6)).Vh, lambda: -torch.linalg.svd(normal(6, 6)).Vh),
        (lambda: F.gelu(normal(500)), lambda: F.gelu(normal(500), approximate="tanh")),
        (lambda: (normal(30, 30) @ normal(30, 30)).softmax(-1), lambda: ((normal(30, 30) @ normal(30, 30)) * 1.001).softmax(-1)),
        (lambda: normal(200, dtype=torch.bfloat16).exp().cumsum(0), lambda: normal(200, dtype=torch.bfloat16).exp().roll(1).cumsum(0)),
    ],
)
def test_a_planted_error_is_out_of_reach(program: Program, wrong: Program) -> None:
    assert outside(program, wrong()) > 0


# What must not move --------------------------------------------------------------------------------------------------------


def counting() -> Any:
    x = torch.arange(60, dtype=torch.float32).view(6, 10)
    return (
        x.sum(0),
        x @ x.t(),
        x.flip(0).relu()[1:],
        x.double().cumsum(1),
        x.bfloat16()[:, :2] + 1,
        normal(4, 4).sort().values,
        torch.full((3,), 0.1),
    )


def drawing() -> Any:
    return torch.rand(4), F.dropout(torch.ones(6), 0.5), torch.randperm(5), torch.bernoulli(torch.rand(5))


@pytest.mark.parametrize("program", [counting, drawing], ids=lambda p: p.__name__)
def test_exact_programs_and_random_numbers_stay(program: Program) -> None:
    plan = planned(program)
    torch.manual_seed(0)
    plain = tree_leaves(program())
    stream = torch.get_rng_state()
    for seed in SEEDS:
        result, mode = nudged(program, seed, plan)
        assert torch.equal(torch.get_rng_state(), stream)
        assert mode.counts["mismatched"] == 0
        assert all(torch.equal(a, b) for a, b in zip(tree_leaves(result), plain, strict=True))


def test_exact_elements_of_an_inexact_node_stay() -> None:
    x = torch.tensor([0.0, 2.0, 0.1, float("inf"), float("nan"), -3.0])
    plan = planned(lambda: x * 3)
    assert plan == [["aten.mul.Tensor", "partial"]]
    runs = torch.stack([nudged(lambda: x * 3, seed, plan)[0] for seed in SEEDS])
    spread = runs.double().nan_to_num(0, 0, 0).amax(0) - runs.double().nan_to_num(0, 0, 0).amin(0)
    assert [float(s) > 0 for s in spread] == [False, False, True, False, False, False]
    assert float(spread[2]) == pytest.approx(2 * 2.0**-25, rel=0.01)  # 0.3 has ulp 2**-25: one step either way


def test_the_same_seed_gives_the_same_run_and_others_do_not() -> None:
    plan = planned(cancelled_sum)
    first, again, other = (nudged(cancelled_sum, seed, plan)[0] for seed in (3, 3, 5))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_backward_and_in_place_results_are_moved_too() -> None:
    def program() -> Any:
        x = normal(20).requires_grad_()
        y = x * 1.1
        y.mul_(1 / 3)
        out = torch.empty(0)
        torch.sin(y.detach(), out=out)
        y.sin().sum().backward()
        return x.grad, y.detach(), out, torch._foreach_exp([x.detach()])[0]

    plan = planned(program)
    plain = program()
    result, _ = nudged(program, 1, plan)
    assert [torch.equal(a, b) for a, b in zip(result, plain, strict=True)] == [False] * 4
    for a, b in zip(result, plain, strict=True):
        torch.testing.assert_close(a, b)


def test_other_nodes_than_planned_are_left_alone_and_counted() -> None:
    plan = planned(lambda: normal(9).sin().exp())
    result, mode = nudged(lambda: normal(9).cos().exp().log(), 1, plan)
    assert mode.counts["mismatched"] == 2
    assert mode.counts["perturbed"] == 1
    torch.testing.assert_close(result, normal(9).cos())


def test_an_operator_that_cannot_be_run_again_moves_by_an_ulp_and_is_counted() -> None:
    lstm = torch.nn.LSTM(3, 4)
    plan = planned(lambda: lstm(normal(5, 2, 3))[0].detach())
    result, mode = nudged(lambda: lstm(normal(5, 2, 3))[0].detach(), 1, plan)
    plain = lstm(normal(5, 2, 3))[0].detach()
    assert mode.counts["failed"] > 0
    assert not torch.equal(result, plain)
    torch.testing.assert_close(result, plain)
