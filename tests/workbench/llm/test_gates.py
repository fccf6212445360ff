"""What passes, what is stopped, at which gate, and what the model is told."""

import pytest

from store.records import Configuration, Program
from store.syntax import parse
from workbench.characteristics import catalogue
from workbench.llm import sameness, traits
from workbench.llm.gates import Context, added, gate, identity, read

SEED = Program(
    "import torch\n\n\ndef fn(x):\n    y = x * 2\n    return y + 1\n\n\ndef get_inputs():\n    return [torch.arange(12.0).reshape(3, 4)]\n"
)
GOOD = SEED.source.replace("    y = x * 2\n", "    v = x.t()\n    v.add_(1)\n    y = x * 2\n")
KNOWN = frozenset({identity(SEED)})


def context(characteristic="view-then-write", **more):
    return Context(characteristic, SEED, KNOWN, **more)


def stopped(source, characteristic="view-then-write"):
    found = read(f"```python\n{source}\n```", "stop", context(characteristic))
    return found.outcome, found.problem


def test_good_answer_passes_and_keeps_the_seeds_name():
    found = read(f"```python\n{GOOD}\n```", "stop", context())
    assert (found.outcome, found.problem, found.program.name) == ("valid", "", SEED.name)
    assert added(found.program, SEED) == ("add!", "t~")


@pytest.mark.parametrize(
    ("answer", "finish", "outcome"),
    [
        ("", "stop", "empty"),
        (" \n", "length", "empty"),
        (f"```python\n{GOOD}", "length", "truncated"),
        (f"```python\n{GOOD}```", "content_filter", "finish"),
        (f"```python\n{GOOD}```", "", "finish"),
        (f"```python\n{GOOD}```", "tool_calls", "finish"),
        ("I will not.", "stop", "fence"),
        ("```python\ndef fn(x:\n    retrun\n\ndef get_inputs(): pass\n```", "stop", "syntax"),
        ("```python\nx = " + "(" * 5000 + "\ndef fn(): pass\n```", "stop", "syntax"),
        ("```python\ndef fn(x):\n    return " + "-" * 100_000 + "x\ndef get_inputs():\n    return [1]\n```", "stop", "syntax"),
    ],
)
def test_shape_finish_fence_and_syntax_come_first(answer, finish, outcome):
    found = read(answer, finish, context())
    assert found.outcome == outcome
    assert found.problem
    assert found.program is None


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (SEED.source.replace("def fn", "def compute"), "neither fn nor Model"),
        ("class Model:\n    def run(self): pass\ndef get_inputs():\n    return []\n", "Model has no forward"),
        ("def fn(x):\n    return x\ndef get_inputs(n):\n    return [n]\n", "must take no arguments"),
        ("def fn(x):\n    return x\ndef get_inputs():\n    pass\n", "returns nothing"),
        (GOOD + "def drive(fn):\n    return fn\n", "drive takes exactly"),
    ],
)
def test_contract(source, told):
    outcome, problem = stopped(source)
    assert outcome == "contract"
    assert told in problem


@pytest.mark.parametrize(
    "line",
    [
        "import os", "import torch.distributed as dist", "from torch._inductor import config", "from torch.utils import cpp_extension", "import subprocess",
        "from .other import x", "import requests", "from torch import hub",
    ],
)  # fmt: skip
def test_imports_that_have_no_place(line):
    assert stopped(f"{line}\n{GOOD}")[0] == "imports"


@pytest.mark.parametrize(
    "body",
    [
        "open('/etc/passwd').read()", "eval('1')", "__import__('os')", "torch.compiler.is_compiling()", "torch.load('x')", "torch._dynamo.reset()",
        "().__class__.__base__.__subclasses__()", "torch.ops.load_library('x')", "print(x)",
    ],
)  # fmt: skip
def test_calls_that_have_no_place(body):
    assert stopped(GOOD.replace("    v = x.t()\n", f"    v = x.t()\n    z = {body}\n"))[0] == "imports"


def test_allowed_parts_of_the_standard_library():
    lines = "import math, itertools\nfrom collections import deque\nfrom dataclasses import dataclass\nimport torch.nn.functional as F\n"
    assert stopped(lines + GOOD)[0] == "valid"


@pytest.mark.parametrize(
    "text",
    [
        SEED.source,
        SEED.source.replace("y", "other"),
        '"""A docstring."""\n'
        + SEED.source.replace("def fn(x)", "def fn(x: torch.Tensor) -> torch.Tensor").replace("x * 2", "(x  *  2)  # two"),
    ],
)
def test_seed_under_other_names_is_a_duplicate(text):
    assert stopped(text)[0] == "duplicate"


def test_example_and_earlier_answers_are_duplicates_too():
    first = read(f"```python\n{GOOD}```", "stop", context()).program
    again = read(f"```python\n{GOOD.replace('v', 'view')}```", "stop", Context("view-then-write", SEED, {identity(first)}))
    assert again.outcome == "duplicate"


def test_same_code_under_another_configuration_is_no_duplicate():
    found = read(
        "```python\n# /// workbench\n# dynamic = true\n# backend = 'evil'\n# ///\n" + SEED.source + "```",
        "stop",
        context("configuration-flips"),
    )
    assert found.outcome == "valid"
    assert found.program.configuration == Configuration(dynamic=True)
    broken = read("```python\n# /// workbench\n# dynamic = perhaps\n# ///\n" + GOOD + "```", "stop", context())
    assert (broken.outcome, broken.program.configuration) == ("valid", Configuration())


def test_answer_that_leaves_the_characteristic_out_is_stopped():
    outcome, problem = stopped(SEED.source.replace("x * 2", "x * 3"))
    assert outcome == "characteristic"
    assert problem == "no sign of the characteristic: view; in place"
    assert traits.in_words("call:a,b,c,d,e,f|text:@") == 'a call of a, b, c, d or 2 more, or the text "@"'
    assert traits.in_words("call:iinfo") == "a call of iinfo"


def test_signs_hold_for_every_example_of_the_catalogue():
    for c in catalogue().values():
        assert not traits.lacking(c.id, parse(c.after), parse(c.before)), c.id


def test_signs_tell_before_from_after_for_most_of_the_catalogue():
    """The others are about numbers and dtypes; there, sameness alone stops an idle answer."""
    told = [c.id for c in catalogue().values() if traits.lacking(c.id, parse(c.before), parse(c.before))]
    assert len(told) >= len(catalogue()) - 12
    assert set(traits.table()) <= set(catalogue())
    assert {w for signs in traits.table().values() for s in signs for w in (p.partition(":")[0] for p in s.split("|"))} <= {
        *traits.SIGNS,
        "call",
        "has",
        "text",
    }


def test_sameness_sees_through_names_and_not_through_work():
    def same(a, b):
        return sameness.digest(a) == sameness.digest(b)

    assert same(
        "def fn(a):\n    def g(b):\n        return b\n    return g(a)\n", "def fn(x):\n    def h(y):\n        return y\n    return h(x)\n"
    )
    assert not same("def fn(a, b):\n    return a - b\n", "def fn(a, b):\n    return b - a\n")
    assert not same("def fn(a):\n    return a.sum(0)\n", "def fn(a):\n    return a.sum(1)\n")
    assert not same("def fn(a):\n    return a\n", "def drive(a):\n    return a\n")


@pytest.mark.torch
def test_program_has_to_run_in_eager(pool):
    bad = GOOD.replace("v.add_(1)", "v.add_(torch.ones(7))")
    found = gate(f"```python\n{bad}```", "stop", context(), pool)
    assert found.outcome == "eager"
    assert "RuntimeError" in found.problem
    assert gate(f"```python\n{bad}```", "stop", context(raises_ok=True), pool).raises
    assert gate(f"```python\n{GOOD}```", "stop", context(), pool).valid
