"""The static filter: no false alarm on programs that run, and no undefined name let through in straight-line code."""

import ast

import pytest

from reducers.names import undefined

FINE = [
    "def fn(x):\n    return helper(x)\ndef helper(a):\n    return a + LATER\nLATER = 1\n",
    "def fn(x):\n    for i in x:\n        if i:\n            y = i\n        else:\n            z = y\n    return z\n",
    "def fn(x):\n    total = 0\n    def add(v):\n        nonlocal total\n        total += v\n    add(x)\n    return total\n",
    "def fn(x):\n    return [a + b for a in x for b in a if b] + [lambda q, *r, k=1, **s: (q, r, k, s)]\n",
    "def fn(x):\n    try:\n        y = x\n    except ValueError as e:\n        y = e\n    return y\n",
    "def fn(x):\n    if (n := len(x)) > 1:\n        return n\n    return {k: v for k, v in x}\n",
    "class A:\n    size = 3\n    def f(self):\n        return self.size, A, __class__\ndef fn(x):\n    return A().f()\n",
    "import torch.nn.functional as F\nfrom torch import nn\nfn = lambda x: F.relu(x) + nn.Parameter(x)\n",
    "def set_it():\n    global made\n    made = 3\ndef fn(x):\n    return made\n",
    "def fn(x):\n    with open(x) as f:\n        del x\n    match f:\n        case [a, *rest]:\n            return a, rest\n        case {'k': v, **more}:\n            return v, more\n",
]


@pytest.mark.parametrize("source", FINE)
def test_nothing_is_undefined_in_code_that_runs(source):
    assert undefined(ast.parse(source)) == frozenset()


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def fn(x):\n    return y\n", "y"),
        ("def fn(x):\n    z = y\n    y = x\n    return z\n", "y"),
        ("def fn(x):\n    return x + (lambda a: a + b)(x)\n", "b"),
        ("class A:\n    size = 3\n    def f(self):\n        return siz\n", "siz"),
        ("def fn(x):\n    y += x\n    return y\n", "y"),
        ("fn = helper\ndef helper(x):\n    return x\n", "helper"),
        ("def fn(x, a=missing):\n    return x\n", "missing"),
    ],
)
def test_a_name_that_no_run_could_find_is_named(source, name):
    assert undefined(ast.parse(source)) == {name}
