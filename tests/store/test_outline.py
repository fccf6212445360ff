"""What a program's text tells by itself. The counts are done by hand from DESIGN's definition of a statement."""

import pytest

from store.outline import count_statements, ops_of

HELPED = '''
import torch

SCALE = 2
def helper(x):
    """Says what it does."""
    y = x * SCALE
    return y
def unused(x):
    return x
def fn(x):
    if x.sum() > 0:
        return helper(x)
    else:
        with torch.no_grad():
            return x
def get_inputs():
    a = torch.ones(2)
    return [a]
'''
MODEL = '''
from torch import nn
class Model(nn.Module):
    """A model."""
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        return self.lin(x)
def drive(fn, inputs):
    first = fn(*inputs)
    return first, fn(*inputs)
'''


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("def fn(x):\n    return x\n", 1),
        ("fn = lambda x: x + 1\n", 1),
        (HELPED, 6),  # if, return, with, return; y =, return
        (MODEL, 7),  # two defs, three lines in them; drive's two
        ("import torch\nx = torch.ones(2)\nf = torch.compile(torch.sin)\nprint(f(x))\n", 3),
        ("def fn(x):\n    try:\n        return x\n    except ValueError:\n        pass\n    finally:\n        x = 1\n", 4),
        ("def fn(x):\n    match x:\n        case 1:\n            return 2\n", 2),
        ("def fn(\nnot python\n", 2),
        ("", 0),
    ],
)
def test_statements_to_read(source, number):
    assert count_statements(source) == number


def test_ops_of_a_skeleton_are_plain_names_each_once():
    assert ops_of(("in:uint8", "t~", "add!", "add", ":half", "aten.index_put_.default", "torch.nn.functional.softmax", "+call:2", "?")) == (
        "t",
        "add",
        "index_put",
        "softmax",
    )
