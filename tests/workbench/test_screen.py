"""Many texts in one child: which run in eager, and which agree to the last bit when compiled."""

from __future__ import annotations

import pytest

from store.records import Configuration
from workbench.flattening import outcomes
from workbench.oracle.runs import Setting
from workbench.servers import Pool

pytestmark = pytest.mark.torch

FRAME = "import torch\n\n\ndef fn(x):\n    {body}\n\n\ndef get_inputs():\n    return [torch.ones({size})]\n"
WRONG = "return x + 1 if torch.compiler.is_compiling() else x"


def text(body, size=3):
    return FRAME.format(body=body, size=size)


@pytest.fixture(scope="module")
def pool():
    with Pool(jobs=1) as made:
        yield made


def asked(pool, sources, backend):
    found = outcomes(pool, Configuration(), sources, Setting(), backend=backend)
    assert found is not None
    return found


def test_each_text_is_told_apart_and_none_spoils_the_next(pool):
    sources = [
        text("torch.set_default_dtype(torch.float64); return x.sin()"),
        text("return x.view(7)"),
        "import nothing_of_that_name\n",
        text("return torch.ones(2).dtype"),
    ]
    found = asked(pool, sources, None)
    assert [outcome for outcome, _ in found] == ["returned", "raised", "invalid", "returned"]
    assert found[1][1].startswith("RuntimeError: shape '[7]' is invalid")


def test_what_differs_in_anything_is_left_to_the_judge(pool):
    mutates = "y = x.add_(1) if torch.compiler.is_compiling() else x + 1; return y.sum()"
    another_size = [text("return x.sin()", size) for size in (3, 4, 5)]  # sizes must not make the later ones dynamic
    shape_read = [text("return x * (2 if isinstance(x.shape[0], int) else 3)", size) for size in (3, 4, 5)]
    found = asked(pool, [text("return x.cos()"), text(WRONG), text(mutates), *another_size, *shape_read], "eager")
    assert [outcome for outcome, _ in found] == ["agrees", "returned", "returned", *["agrees"] * 6]
