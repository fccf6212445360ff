"""Sizes of inputs shrink together where one follows from others."""

from __future__ import annotations

import pytest

from reducers.inputs import boldest, sizes
from reducers.tree import apply, show
from store.syntax import parse

HEAD = "import torch\n\ndef fn(x):\n    return x\n\ndef get_inputs():\n    return [{}]\n"


def made(expression: str, edits=sizes) -> set[str]:  # type: ignore[no-untyped-def]
    """What the inputs become under each edit, without the brackets."""
    tree = parse(HEAD.format(expression))
    texts = [show(apply(tree, [edit])) for edit in edits(tree)]
    return {text.partition("return [")[2].strip().removesuffix("]") for text in texts}


@pytest.mark.parametrize(
    ("expression", "smaller"),
    [
        ("torch.arange(24).reshape(6, 4)", "torch.arange(8).reshape(2, 4)"),
        ("torch.arange(24.0).reshape((6, 4))", "torch.arange(8.0).reshape((2, 4))"),
        ("torch.arange(24).float().view(6, 4)", "torch.arange(6).float().view(6, 1)"),
        ("torch.arange(1, 25).reshape(6, 4)", "torch.arange(1, 7).reshape(6, 1)"),
        ("torch.linspace(-1, 2, 24).reshape(6, 4)", "torch.linspace(-1, 2, 8).reshape(2, 4)"),
        ("torch.arange(24).reshape(6, 4), torch.ones(1, 4)", "torch.arange(6).reshape(6, 1), torch.ones(1, 1)"),
    ],
)
def test_the_length_follows_the_shape(expression: str, smaller: str) -> None:
    assert smaller in made(expression)


def test_a_length_that_follows_never_changes_alone() -> None:
    assert not any("arange(12).reshape(6, 4)" in text for text in made("torch.arange(24).reshape(6, 4)"))


def test_a_length_without_a_shape_is_a_size_of_its_own() -> None:
    assert "torch.arange(12)" in made("torch.arange(24)")
    assert "torch.arange(12).reshape(-1, 4)" in made("torch.arange(24).reshape(-1, 4)")


def test_all_at_once_keeps_lengths_right() -> None:
    expected = {"torch.arange(4).reshape(2, 2), torch.ones(1, 2)", "torch.arange(9).reshape(3, 3), torch.ones(1, 3)"}
    assert made("torch.arange(24).reshape(6, 4), torch.ones(1, 4)", boldest) == expected
