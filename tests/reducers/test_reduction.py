"""Promises of a whole reduction, on synthetic predicates over generated programs."""

from __future__ import annotations

import ast
import contextlib
import math
import re
import threading
import time

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from reducers.names import undefined
from reducers.oracle import Candidate, Kind, MemoryJournal
from reducers.reduction import PASSES, Unreproducible, reduce
from reducers.search import Budget
from reducers.tree import apply, function, show, statements
from store.records import Configuration
from store.syntax import parse

SETTINGS = settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def programs(draw):
    """Straight-line filler around some ops, with helpers, blocks and tuples; and the ops that the bug needs."""
    count = draw(st.integers(3, 10))
    lines, names = [], ["x", "y"]
    for i in range(count):
        source = draw(st.sampled_from(names))
        other = draw(st.sampled_from(names))
        form = draw(st.sampled_from(["{n} = {a}.op{i}()", "{n} = {a}.op{i}({b}, k=2)", "{n} = helper({a}) + {b}.op{i}()", "{a}.op{i}_()"]))
        text = form.format(n=f"v{i}", a=source, b=other, i=i)
        block = draw(st.sampled_from(["", "", "", "if flag:", "with torch.no_grad():", "for i in range(3):"]))
        if block:
            lines += [f"    {block}", f"        {text}"]
        else:
            lines.append(f"    {text}")
        if not block and "= " in text:
            names.append(f"v{i}")
    needed = draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=3))
    results = ", ".join(names[-3:])
    body = "\n".join(lines)
    source = (
        f"import torch\nflag = True\n\ndef helper(a):\n    b = a.extra()\n    return b\n\ndef fn(x, y):\n{body}\n    return {results}\n\n"
        "def get_inputs():\n    return [torch.randn(4, 8), torch.ones(3)]\n"
    )
    return source, frozenset(f"op{i}" for i in needed)


def needs(ops, calls):
    """The bug shows where all these ops are called, in place or not, and every name is defined."""

    def predicate(candidate: Candidate) -> Kind:
        if undefined(parse(candidate.source)):
            return Kind.INVALID
        return Kind.SAME if ops <= {name.rstrip("_") for name in calls(candidate.source)} else Kind.AGREE

    return predicate


DEAD = """\
import torch
flag = True

def helper(a):
    b = a.extra()
    return b

def fn(x, y):
    v0 = x.op0()
    if flag:
        v1 = helper(x) + x.op1()
    v2 = x.op2()
    return v0, v2

def get_inputs():
    return [torch.randn(4, 8), torch.ones(3)]
"""
"""What the bug needs is not returned: tidying would take it away together with the helper beside it."""


@SETTINGS
@given(programs())
@example((DEAD, frozenset({"op1"})))
def test_the_result_shows_the_bug_is_one_minimal_and_never_grows(fake, calls, made):
    source, ops = made
    predicate = needs(ops, calls)
    done = reduce(Candidate(source), fake(predicate), MemoryJournal())
    assert predicate(done.candidate) is Kind.SAME
    assert done.progress.statements <= done.progress.statements_before
    assert statements(done.candidate.source) <= len(ops) + 1
    tree = parse(done.candidate.source)
    for pass_ in PASSES:
        for edit in pass_.edits(tree):
            changed = apply(tree, [edit])
            smaller = changed is not None and len(show(changed)) < len(show(tree)) and statements(show(changed)) < statements(show(tree))
            assert not smaller or predicate(Candidate(show(changed))) is not Kind.SAME, (pass_.name, show(tree), show(changed))


@SETTINGS
@given(programs(), st.integers(2, 6))
def test_any_number_of_workers_gives_the_same_result(fake, calls, made, workers):
    source, ops = made
    one = reduce(Candidate(source), fake(needs(ops, calls)), MemoryJournal())

    class Slow(fake):
        """Answers out of order."""

        def judge(self, candidate, cancelled, *, survey=False):
            time.sleep((hash(candidate.source) % 5) / 2000)
            return super().judge(candidate, cancelled)

    many = reduce(Candidate(source), Slow(needs(ops, calls)), MemoryJournal(), workers=workers)
    assert many.candidate == one.candidate


@SETTINGS
@given(programs(), st.integers(1, 40))
def test_a_killed_reduction_resumes_to_the_same_result_and_asks_nothing_twice(fake, calls, killed, made, after):
    source, ops = made
    whole = fake(needs(ops, calls))
    expected = reduce(Candidate(source), whole, MemoryJournal())
    journal = MemoryJournal()
    first = fake(needs(ops, calls))
    first.die_after = after
    with contextlib.suppress(killed):
        reduce(Candidate(source), first, journal)
    second = fake(needs(ops, calls))
    done = reduce(Candidate(source), second, journal)
    assert done.candidate == expected.candidate
    assert {c.key for c in first.asked}.isdisjoint(c.key for c in second.asked)
    assert len(first.asked) + len(second.asked) == len(whole.asked)


@SETTINGS
@given(programs())
def test_a_second_reduction_asks_nothing(fake, calls, made):
    source, ops = made
    journal = MemoryJournal()
    reduce(Candidate(source), fake(needs(ops, calls)), journal)
    again = fake(needs(ops, calls))
    reduce(Candidate(source), again, journal)
    assert again.asked == []


@SETTINGS
@given(programs(), st.integers(1, 15))
def test_a_budget_ends_with_the_best_so_far_which_is_valid(fake, calls, made, budget):
    source, ops = made
    oracle = fake(needs(ops, calls))
    done = reduce(Candidate(source), oracle, MemoryJournal(), budget=Budget(calls=budget))
    assert len(oracle.asked) <= budget
    assert needs(ops, calls)(done.candidate) is Kind.SAME
    assert done.ended in ("budget", "complete")


def test_configuration_goes_to_its_defaults_and_keeps_what_the_bug_needs(fake):
    source = "import torch\n\ndef fn(x):\n    return x.sin()\n\ndef get_inputs():\n    return [torch.ones(1)]\n"
    start = Configuration(
        dynamic=True, grad=True, fullgraph=True, threads=2, inductor={"cpp.simdlen": 0, "fallback_random": True}, dynamo={"a": 1}
    )

    def predicate(candidate):
        return candidate.configuration.dynamic is True and "fallback_random" in candidate.configuration.inductor

    done = reduce(Candidate(source, start), fake(predicate), MemoryJournal())
    assert done.candidate.configuration.non_default() == {"dynamic": True, "inductor": {"fallback_random": True}}


def test_what_fails_differently_is_reported_and_never_accepted(fake):
    source = (
        "import torch\n\ndef fn(x):\n    y = x.crash()\n    z = y.wrong()\n    return z\n\ndef get_inputs():\n    return [torch.ones(1)]\n"
    )

    def predicate(candidate):
        wrong, crash = ("wrong" in candidate.source, "crash" in candidate.source)
        return Kind.SAME if wrong and crash else Kind.DIFFERENT if crash else Kind.AGREE

    strange: list[Candidate] = []
    done = reduce(Candidate(source), fake(predicate), MemoryJournal(), stranger=lambda c, j: strange.append(c))
    assert "wrong" in done.candidate.source
    assert any("crash" in c.source and "wrong" not in c.source for c in strange)


def test_a_program_that_does_not_show_the_bug_is_refused(fake):
    with pytest.raises(Unreproducible):
        reduce(Candidate("def fn(x):\n    return x\n"), fake(lambda c: False), MemoryJournal())


def test_a_flaky_bug_is_accepted_only_after_all_votes(fake):
    seen: dict[str, int] = {}
    lock = threading.Lock()

    def predicate(candidate):
        with lock:
            seen[candidate.source] = seen.get(candidate.source, 0) + 1
        steady = "keep" in candidate.source
        return steady or seen[candidate.source] == 1  # without ``keep`` it shows once and never again

    source = "def fn(x):\n    y = x.keep()\n    z = y.other()\n    return z\n\ndef get_inputs():\n    return [1]\n"
    done = reduce(Candidate(source), fake(predicate), MemoryJournal(), votes=(3, 3))
    assert "keep" in done.candidate.source
    assert "other" not in done.candidate.source


def test_a_flattened_program_that_hides_the_bug_is_not_taken(fake):
    flat = "import torch\n\ndef fn(x):\n    return x.cos()\n\ndef get_inputs():\n    return [torch.ones(2)]\n"
    source = "import torch\n\ndef fn(x):\n    if True:\n        y = x.bug()\n    return y.cos()\n\ndef get_inputs():\n    return [torch.ones(2)]\n"
    done = reduce(Candidate(source), fake(lambda c: "bug" in c.source, flat=[flat]), MemoryJournal())
    assert "return x.bug()" in done.candidate.source


def test_a_slice_ends_in_the_first_value_that_differs(fake):
    lines = [f"v{i + 1} = v{i}.op{i}()" for i in range(30)]
    flat = (
        "import torch\n\ndef fn(v0):\n    " + "\n    ".join(lines) + "\n    return v30\n\ndef get_inputs():\n    return [torch.ones(2)]\n"
    )

    class Differs(fake):
        """Everything from ``op10`` on is wrong."""

        def differing(self, candidate):
            value = function(parse(candidate.source), "fn").body[-1].value
            wrong = [f"return[{i}]" for i, e in enumerate(getattr(value, "elts", ())) if int(e.id[1:]) > 10]
            return tuple(wrong) if isinstance(value, ast.Tuple) else ("return",)

    oracle = Differs(lambda c: "op10" in c.source, flat=[flat])
    done = reduce(Candidate(flat + "UNUSED = 1\n"), oracle, MemoryJournal())
    assert "return x.op10()" in done.candidate.source
    assert len(oracle.asked) < 25


def test_a_thousand_statements_take_few_questions(fake):
    lines = [f"v{i + 1} = v{i}.op{i}(2)" for i in range(1000)]
    head, tail = "import torch\n\ndef fn(v0):\n    ", "\n\ndef get_inputs():\n    return [torch.randn(2)]\n"
    flat = head + "\n    ".join(lines) + "\n    return v1000" + tail
    window = head + "v1 = v0.op499(2)\n    return v1.op500(2)" + tail

    class Differs(fake):
        """Everything from ``op500`` on is wrong."""

        def differing(self, candidate):
            value = function(parse(candidate.source), "fn").body[-1].value
            if not isinstance(value, ast.Tuple):
                return ("return",)
            return tuple(f"return[{i}]" for i, e in enumerate(value.elts) if int(e.id[1:]) > 500)

    oracle = Differs(lambda c: "op500" in c.source, flat=[flat], windows=[window])
    done = reduce(Candidate(flat + "UNUSED = 1\n"), oracle, MemoryJournal())
    assert "return x.op500()" in done.candidate.source
    assert done.progress.calls < 25


def test_values_that_matter_stay(fake):
    source = "import torch\n\ndef fn(x):\n    return (x * 1.7e12).big()\n\ndef get_inputs():\n    return [torch.tensor([-0.0, 3.5])]\n"
    done = reduce(Candidate(source), fake(lambda c: "1700000000000.0" in c.source and "-0.0" in c.source), MemoryJournal())
    assert "torch.tensor([-0.0])" in done.candidate.source


def test_the_result_reads_as_a_person_wrote_it(fake):
    source = '''
"""Doc."""
import torch, os
import torch.nn.functional as F

def build():
    def inner_function(first_argument, second_argument):
        """Doc."""
        intermediate_value = first_argument.sin()
        unused = second_argument
        return F.bug(intermediate_value), unused
    return inner_function, (torch.randn(16, 32), torch.ones(3))

fn, _inputs = build()

def get_inputs():
    return _inputs
'''
    done = reduce(Candidate(source), fake(lambda c: "F.bug(" in c.source and not undefined(parse(c.source))), MemoryJournal())
    expected = "import torch\nimport torch.nn.functional as F\n\n\ndef fn(x):\n    return F.bug(x)\n\n\ndef get_inputs():\n    return [torch.ones(1)]\n"
    assert done.candidate.source == expected


def test_sizes_shrink_together_with_those_of_the_code(fake):
    source = (
        "import torch\n\ndef fn(x, y):\n    return x.view(24).bug(y)\n\n"
        "def get_inputs():\n    return [torch.randn(4, 6), torch.arange(24.0)]\n"
    )

    def predicate(candidate):
        names: dict = {}
        text = candidate.source.replace("import torch", "")
        exec(text, {"torch": Shapes}, names)
        shapes = names["get_inputs"]()
        view = re.search(r"view\((\d+)\)", text)
        sound = len(shapes) == 2 and (view is None or math.prod(shapes[0]) == int(view[1]))
        return Kind.INVALID if not sound else math.prod(shapes[0]) >= 3 and math.prod(shapes[1]) >= 2 and "bug" in text

    done = reduce(Candidate(source), fake(predicate), MemoryJournal())
    assert "torch.arange(2.0)" in done.candidate.source
    assert re.search(r"torch\.(ones|zeros|arange)\((3|1, 3|3, 1|3\.0)\)|torch.randn\((1, 3|3, 1|3)\)", done.candidate.source)


class Shapes:
    """Stands for torch where only shapes count."""

    @staticmethod
    def randn(*shape):
        return shape

    zeros = ones = randn

    @staticmethod
    def arange(n):
        return (int(n),)


@pytest.mark.parametrize("path", ["gradients.inputs[0]", "inputs[0]"])
def test_where_no_result_differs_each_is_tried_alone_in_one_question(fake, calls, path):
    results = ", ".join(f"x.{name}()" for name in ("exp", "sin", "sort", "odd", "cos", "tan", "relu"))
    source = f"def fn(x):\n    return {results}\n\ndef get_inputs():\n    return [ones(3)]\n"

    class Elsewhere(fake):
        flattens = False

        def differing(self, candidate):
            return (path,)

    oracle = Elsewhere(lambda c: "odd" in calls(c.source))
    done = reduce(Candidate(source), oracle, MemoryJournal())
    assert calls(done.candidate.source) == {"odd", "ones"}
    assert calls(oracle.asked[2].source) == {"odd", "ones"}


@pytest.mark.parametrize("most", [6, 8, 12])
def test_what_packs_showed_is_kept_when_the_budget_ends(fake, calls, most):
    lines = "\n".join(f"    x = x.op{i}()" for i in range(10))
    source = f"def fn(x):\n{lines}\n    return x.odd()\n\ndef get_inputs():\n    return [ones(3)]\n"
    oracle = fake(lambda c: "odd" in calls(c.source))
    oracle.flattens = False
    done = reduce(Candidate(source), oracle, MemoryJournal(), budget=Budget(calls=most))
    assert done.progress.statements <= 2


def test_a_flat_program_is_still_asked_under_its_own_configuration(fake, calls):
    """Everything shows only with gradients; what differs is none of the results."""
    source = "import torch\n\ndef fn(x):\n    return x.exp(), x.sin(), x.sort(), x.odd(), x.cos()\n\ndef get_inputs():\n    return [torch.ones(3)]\n"

    class Gradient(fake):
        def differing(self, candidate):
            return ("gradients.inputs[0]",)

    oracle = Gradient(lambda c: "odd" in calls(c.source) and c.configuration.grad, flat=[source])
    done = reduce(Candidate(source, Configuration(grad=True)), oracle, MemoryJournal())
    assert calls(done.candidate.source) == {"odd", "ones"}
    assert done.progress.calls <= 12
