"""Programs that wrap what they do in registries and classes come down to the object that matters."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from reducers import inline, objects, statements
from reducers.oracle import Candidate, Kind, MemoryJournal
from reducers.reduction import reduce
from reducers.tree import apply, show
from store.syntax import parse

REGISTRY = """
class A:
    gain = 1
    def __init__(self, name):
        self.name = name
    def apply(self, x):
        return x * self.gain

class B(A):
    pass

class Registry:
    def __init__(self):
        self.stages = {}
        self.order = []
    def add(self, stage):
        self.stages[stage.name] = stage
        self.order.append(stage.name)
        return stage
    def __iter__(self):
        for name in self.order:
            yield self.stages[name]

registry = Registry()
registry.add(B('b'))

def fn(x):
    y = x + 1
    for stage in registry:
        y = stage.apply(y)
    return y

def get_inputs():
    return [3]

def drive(fn, inputs):
    results = []
    for step in range(2):
        results.append(fn(*inputs))
        B.gain = 5
    return results
"""


def variants(edits, source: str) -> set[str]:
    """What each edit alone makes of a text."""
    tree = parse(source)
    return {show(changed) for edit in edits(tree) if (changed := apply(tree, [edit])) is not None}


def ran(source: str) -> object:
    """What ``drive`` gives when the program is really run."""
    space: dict[str, object] = {}
    exec(compile(source, "program", "exec"), space)
    return space["drive"](space["fn"], space["get_inputs"]())  # type: ignore[operator]


def test_a_registry_comes_down_to_the_object_in_it(fake):
    def predicate(candidate: Candidate) -> Kind | bool:
        """The second call sees an attribute that a subclass got after the first."""
        try:
            result = ran(candidate.source)
        except Exception:
            return Kind.INVALID
        written = any(isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "B.gain" for n in ast.walk(parse(candidate.source)))
        inherited = "class B(A)" in candidate.source
        last = result[-1] if isinstance(result, list) and result else result
        return written and inherited and isinstance(last, int) and last % 5 == 0 and last > 0 and "__getattribute__" not in candidate.source

    oracle = fake(predicate)
    oracle.flattens = False
    done = reduce(Candidate(REGISTRY), oracle, MemoryJournal())
    assert "Registry" not in done.candidate.source
    assert "__init__" not in done.candidate.source
    assert "for " not in done.candidate.source.replace("for t in", "")
    assert done.progress.statements <= 8, done.candidate.source


def test_an_instance_inside_an_expression_gets_a_name():
    source = "class B:\n    pass\na = []\na.append(B())\ndef fn(x):\n    return a[0].f(x)\n"
    assert "class B:\n    pass\na = []\nmade0 = B()\na.append(made0)\n\ndef fn(x):\n    return made0.f(x)\n" in {
        v.replace("\n\na =", "\na =") for v in variants(objects.instances, source)
    }


def test_what_hangs_on_a_parameter_is_no_way_to_an_instance():
    source = "class B:\n    pass\nb = B()\ndef fn(x):\n    return x[0].f(x[1]), torch.ones(2)[0]\n"
    assert variants(objects.instances, source) == set()


def test_an_init_goes_with_what_heirs_hand_to_it():
    source = "class A:\n    n = 1\n    def __init__(self, a, b=2):\n        self.a = a\nclass B(A):\n    pass\nx = B(1, b=3)\ny = A(2)\nz = C(2)\n"
    assert any("x = B()\ny = A()\nz = C(2)" in v and "__init__" not in v for v in variants(objects.constructors, source))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = f(x)\n    y = g(y)\n    return y", "y = g(f(x))\n    return y"),
        ("y = f(x)\n    y = g(y)\n    return y", "y = f(x)\n    return g(y)"),
        ("y = f(x)\n    y = y + y\n    return h(y)", "y = f(x)\n    return h(y + y)"),
    ],
)
def test_a_name_bound_twice_is_put_where_it_is_read(before: str, after: str):
    head = "def fn(x):\n    "
    assert show(parse(head + after)) in variants(inline.names, head + before)


@pytest.mark.parametrize("body", ["y = f(x)\n    y = y + y\n    y = 1", "y = f(x)\n    y = (lambda: y)\n    y = 2"])
def test_a_value_read_twice_or_later_stays(body: str):
    assert not any("f(x) + f(x)" in v or "lambda: f(x)" in v for v in variants(inline.names, f"def fn(x):\n    {body}\n    return y\n"))


def test_a_method_that_is_one_return_is_put_where_it_is_called():
    head = "class A:\n    gain = 1\n    def scaled(self, x, by=2):\n        return x * self.gain * by\na = A()\n"
    assert any("return y * a.gain * 2" in v for v in variants(objects.methods, f"{head}def fn(y):\n    return a.scaled(y)\n"))
    other = "class B:\n    def scaled(self, x):\n        return x\n"
    assert not variants(objects.methods, f"{head}{other}def fn(y):\n    return a.scaled(y)\n")


def test_a_loop_that_ignores_its_variable_is_unrolled():
    found = variants(statements.unwraps, "def fn(x):\n    for i in range(2):\n        a()\n        b()\n    return x\n")
    assert "def fn(x):\n    a()\n    b()\n    a()\n    return x\n" in found
    assert not any("b()\n    a()\n    b()" in v for v in variants(statements.unwraps, "for i in range(2):\n    a(i)\n    b()\n"))


def test_what_is_appended_last_is_returned():
    assert "def fn(x):\n    c = []\n    return f(x)\n" in variants(inline.returned_inside, "def fn(x):\n    c = []\n    c.append(f(x))\n    return c\n")


def test_every_edit_of_a_kind_can_be_applied_to_real_programs():
    folder = Path(__file__).parents[1] / "quality" / "programs"
    for path in folder.glob("*.py"):
        tree = parse(path.read_text())
        for edits in (objects.instances, objects.constructors):
            for edit in edits(tree):
                changed = apply(tree, [edit])
                assert changed is None or show(changed) != show(tree)
