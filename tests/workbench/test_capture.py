"""Programs below Dynamo as straight-line text: what the graph route starts from."""

from __future__ import annotations

import ast

import pytest

from store.records import Configuration, Outcome, Program
from workbench.flattening import flat_texts
from workbench.oracle.judge import Judge
from workbench.oracle.runs import Setting
from workbench.servers import Pool

pytestmark = pytest.mark.torch

MODEL = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        return F.gelu(self.lin(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x, k):
        for block in self.blocks:
            x = block(x)
        k += 1
        with torch.no_grad():
            y = x[1:, None] * float("inf")
        return x.softmax(-1), y, k


def get_inputs():
    return [torch.randn(40, 3), torch.tensor([250], dtype=torch.uint8)]
"""

SHARED = """import torch


def fn(x, y):
    x.add_(1)
    return y * 2


def get_inputs():
    base = torch.arange(6.0)
    return [base[:4], base[2:].flip(0).flip(0).t() if False else base[2:]]
"""

BROKEN = "import torch\n\n\ndef fn(x):\n    raise ValueError('no graph')\n\n\ndef get_inputs():\n    return [torch.ones(2)]\n"


@pytest.fixture(scope="module")
def pool():
    with Pool() as made:
        yield made


def texts(pool, source, *, windows=False, **configuration):
    return list(flat_texts(pool, Program(source, Configuration(**configuration), "program.py"), Setting(), windows=windows))


def test_modules_loops_and_parameters_become_one_plain_function(pool):
    first = texts(pool, MODEL)[0]
    tree = ast.parse(first)
    fn = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "fn")
    assert not any(isinstance(n, ast.For | ast.ClassDef) for n in ast.walk(tree))
    assert first.count("torch.nn.functional.linear(") == 2
    assert "with torch.no_grad():" in first
    assert "float('inf')" in first
    assert "+= 1" in first
    assert "torch.randn(40, 3)" in first
    assert "torch.tensor([250], dtype=torch.uint8)" in first
    assert len(fn.body[-1].value.elts) == 3


def test_windows_are_the_last_operations_over_recorded_values(pool):
    found = texts(pool, MODEL, windows=True)
    sizes = [len(next(n for n in ast.parse(t).body if isinstance(n, ast.FunctionDef) and n.name == "fn").body) for t in found]
    assert sizes == sorted(sizes)
    assert "linear" not in found[0]


def test_inputs_that_share_memory_still_do(pool):
    text = texts(pool, SHARED)[0]
    assert "base0 = torch.arange(6.0)" in text
    assert "base0.as_strided((4,), (1,), 0), base0.as_strided((4,), (1,), 2)" in text


def test_a_dynamic_size_is_read_off_its_tensor(pool):
    source = "import torch\n\n\ndef fn(x):\n    return x * x.shape[0]\n\n\ndef get_inputs():\n    return [torch.ones(5)]\n"
    assert "l_x_.shape[0]" in texts(pool, source, dynamic=True)[0]


def test_what_cannot_be_captured_gives_no_text(pool):
    assert texts(pool, BROKEN) == []


TEST_FILE = """import unittest
import torch


class TestThing(unittest.TestCase):
    def setUp(self):
        self.x = torch.ones(2, 3)

    def test_sum(self):
        y = torch.compile(lambda x: (x * 2).sum(0))(self.x)
        self.assertEqual(y[0].item(), 5)
        torch.compile(torch.sin)(self.x)

    def test_other(self):
        torch.compile(torch.cos)(self.x)
"""


def test_one_test_of_a_test_file_is_captured_beyond_its_failing_asserts_and_what_comes_of_it_is_judged_as_a_program(pool: Pool) -> None:
    setting = Setting(test="TestThing::test_sum")
    texts = flat_texts(pool, Program(TEST_FILE, Configuration(), "test_thing.py"), setting)
    assert any(".sum(0)" in text for text in texts)
    assert any(".sin(" in text for text in texts)
    assert not any("cos" in text for text in texts)
    verdict = Judge(pool).check(Program(texts[0], Configuration(), "test_thing.py"), setting=setting)
    assert verdict.outcome is Outcome.AGREE, verdict.reason
    assert verdict.calls == ()
