"""Inputs said in the plainest way, with the same values and dtype."""

from __future__ import annotations

import pytest

from reducers.makers import plain
from reducers.tree import show
from store.syntax import parse


def made(expression):
    text = show(plain(parse(f"import torch\n\ndef get_inputs():\n    return [{expression}]\n")))
    return text.split("return [", 1)[1].removesuffix("]\n")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.randint(0, 1, (3,))", "torch.zeros(3, dtype=torch.int64)"),
        ("torch.randint(0, 1, (2, 3), dtype=torch.uint8)", "torch.zeros(2, 3, dtype=torch.uint8)"),
        ("torch.full((2, 1), 1)", "torch.ones(2, 1, dtype=torch.int64)"),
        ("torch.full((2,), 0.0)", "torch.zeros(2)"),
        ("torch.full((2,), True)", "torch.ones(2, dtype=torch.bool)"),
        ("torch.tensor([1.0, 1.0, 1.0])", "torch.ones(3)"),
        ("torch.tensor([[0, 0], [0, 0]])", "torch.zeros(2, 2, dtype=torch.int64)"),
    ],
)
def test_a_constant_tensor_is_named_for_what_it_is(expression, expected):
    assert made(expression) == expected


@pytest.mark.parametrize(
    "expression",
    ["torch.randint(0, 2, (3,))", "torch.full((2,), 3)", "torch.tensor([1.0, 2.0, 1.0])", "torch.tensor([-0.0, -0.0, -0.0])", "torch.tensor([1, True, 1.0])"],
)
def test_what_is_not_constant_stays(expression):
    assert made(expression) == expression
