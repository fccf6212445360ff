"""Dead code goes; whatever may have an effect stays."""

import pytest

from reducers.deadcode import tidy
from reducers.tree import canonical, show
from store.syntax import parse


def tidied(source: str) -> str:
    return show(tidy(parse(source)))


def test_dead_stores_and_all_they_alone_needed_go():
    source = "def fn(x):\n    a = x.sin()\n    b = a.cos()\n    c = x + 1\n    c = c * 2\n    return x\n"
    assert tidied(source) == canonical("def fn(x):\n    return x\n")


@pytest.mark.parametrize(
    "effect",
    [
        "x.add_(1)",
        "y = x.mul_(2)",
        "x[0] = 1",
        "x += 1",
        "y = torch.rand(2)",
        "log.append(x)",
        "y = torch.add(x, 1, out=x)",
        "box.v = x",
        "y = torch.nn.functional.relu(x, inplace=True)",
    ],
)
def test_effects_stay(effect):
    source = f"import torch\nlog = []\n\ndef fn(x, box):\n    {effect}\n    return x\n"
    assert effect in tidied(source)


def test_what_a_closure_reads_is_alive():
    source = "def fn(x):\n    k = x + 1\n\n    def inner(v):\n        return v * k\n    return inner(x)\n"
    assert tidied(source) == canonical(source)


def test_what_a_loop_carries_is_alive():
    source = "def fn(x):\n    a = x\n    for i in range(3):\n        b = a\n        a = b + i\n    return a\n"
    assert tidied(source) == canonical(source)


def test_branches_keep_what_is_read_behind_them():
    source = "def fn(x, k):\n    if k:\n        y = x.sin()\n    else:\n        y = x.cos()\n        z = y + 1\n    return y\n"
    assert tidied(source) == canonical("def fn(x, k):\n    if k:\n        y = x.sin()\n    else:\n        y = x.cos()\n    return y\n")


def test_unused_inputs_go_with_their_parameters():
    source = "import torch\n\ndef fn(x, y):\n    return y.sin()\n\ndef get_inputs():\n    return [torch.ones(2), torch.zeros(3)]\n"
    assert tidied(source) == canonical("import torch\n\ndef fn(y):\n    return y.sin()\n\ndef get_inputs():\n    return [torch.zeros(3)]\n")


def test_inputs_stay_when_drive_may_use_them():
    source = (
        "def fn(x, y):\n    return x\n\ndef drive(fn, inputs):\n    return fn(*inputs), inputs[1]\n\ndef get_inputs():\n    return [1, 2]\n"
    )
    assert tidied(source) == canonical(source)


def test_methods_keep_self():
    source = "class A:\n\n    def go(self, v):\n        return v\n\ndef fn(x):\n    return A().go(x)\n"
    assert tidied(source) == canonical(source)


def test_unused_imports_and_helpers_go_in_chains():
    source = "import os\nimport math as m\n\ndef a(x):\n    return b(x)\n\ndef b(x):\n    return m.pi\n\ndef fn(x):\n    return x\n"
    assert tidied(source) == canonical("def fn(x):\n    return x\n")
