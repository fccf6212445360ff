"""Action trace: what every local tensor was, statement by statement."""

import pytest

from store.records import Program
from workbench.fuzz.tracing import facts_of

pytestmark = pytest.mark.torch

SOURCE = """import torch


def helper(a):
    b = a.t()
    return b


def fn(x, k):
    view = x.view(-1)
    other = helper(x)
    half = x.half() / 2
    total = 0
    for row in x:
        total = total + row
    view.add_(1)
    return total, half


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4), 5]
"""


def test_shapes_dtypes_layouts_and_shared_memory_are_told(pool):
    facts = facts_of(pool, Program(SOURCE))
    assert facts.returned
    values = {(v["function"], v["name"]): v for v in reversed(facts.document["values"])}
    x, view, other, half = (values["fn", name] for name in ("x", "view", "other", "half"))
    assert (x["position"], x["shape"], x["integral"], x["low"], x["high"]) == (0, [3, 4], True, 0.0, 11.0)
    assert x["storage"] == view["storage"] == other["storage"] == values["helper", "b"]["storage"] != half["storage"]
    assert (other["stride"], other["contiguous"]) == ([1, 4], False)
    assert (half["dtype"], half["integral"]) == ("float16", False)
    assert view["line"] == 10
    assert values["fn", "total"]["shape"] == [4]
    assert facts.document["inputs"][1] == "int"
    assert 15 in facts.document["lines"]["fn"]


def test_a_program_that_raises_says_where(pool):
    facts = facts_of(pool, Program(SOURCE.replace("view.add_(1)", "view.nothing()")))
    assert facts.outcome == "raised"
    assert "AttributeError" in facts.why
    assert any(v["name"] == "half" for v in facts.document["values"])


def test_tracing_does_not_change_the_random_stream(pool):
    program = "import torch\n\ndef fn(x):\n    a = torch.rand(3)\n    b = torch.rand(3)\n    return a + b\n\ndef get_inputs():\n    return [torch.zeros(3)]\n"
    first, second = facts_of(pool, Program(program)), facts_of(pool, Program(program))
    assert first.document["values"] == second.document["values"]
