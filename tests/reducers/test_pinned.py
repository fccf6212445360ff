"""Of a random input only the elements stay that show the bug, with the values that they had."""

from __future__ import annotations

import ast
import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reducers.oracle import Candidate, MemoryJournal
from reducers.pinned import _are_drawn, _values
from reducers.reduction import reduce
from store.syntax import parse

PROGRAM = "import torch\n\ndef fn({parameters}):\n    return torch.special.odd({parameters})\n\ndef get_inputs():\n    return [{inputs}]\n"


def numbers_in(source: str) -> list[float]:
    """Every number of the inputs, in order."""
    maker = next(s for s in parse(source).body if isinstance(s, ast.FunctionDef) and s.name == "get_inputs")
    return [n.value for n in ast.walk(maker) if isinstance(n, ast.Constant) and isinstance(n.value, float)]


def exact(values: list[list[float]], names: str) -> str:
    return PROGRAM.format(parameters=", ".join(f"l_{n}_" for n in names), inputs=", ".join(f"torch.tensor({v})" for v in values))


def oracle_for(fake, values, names, shows):
    """The bug shows where the inputs are drawn as in the original, or where written-out values hold what it takes."""
    original = PROGRAM.format(parameters=", ".join(names), inputs=", ".join(f"torch.randn({len(v)})" for v in values))

    def predicate(candidate: Candidate) -> bool:
        if f"odd({', '.join(names)})" not in candidate.source:
            return False
        if "randn" in candidate.source:
            return candidate.source.count(f"randn({len(values[0])})") == len(values)
        return not re.search(r"arange|full|ones|zeros", candidate.source) and shows(candidate.source)

    flat = [original.replace(", ".join(names), ", ".join(f"l_{n}_" for n in names)), exact(values, names)]
    return original, fake(predicate, flat=flat)


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(3, 150), st.data())
def test_one_element_in_many_is_found(fake, count, data):
    place = data.draw(st.integers(0, count - 1))
    rng = random.Random(count)
    values = [round(rng.uniform(-2, 2), 3) for _ in range(count)]
    values[place] = 7.5
    original, oracle = oracle_for(fake, [values], "x", lambda source: any(v > 7 for v in numbers_in(source)))
    done = reduce(Candidate(original), oracle, MemoryJournal())
    assert numbers_in(done.candidate.source) == [7.5]
    assert len(oracle.asked) < 60


def test_inputs_of_one_size_are_narrowed_together(fake):
    one, two = [0.5] * 40, [0.25] * 40
    one[23], two[23] = 5.5, 6.5

    def shows(source: str) -> bool:
        found = numbers_in(source)
        half = len(found) // 2
        if len(found) % 2:
            return False
        return any(a > 5 and b > 6 for a, b in zip(found[:half], found[half:], strict=True))

    original, oracle = oracle_for(fake, [one, two], "xy", shows)
    done = reduce(Candidate(original), oracle, MemoryJournal())
    assert numbers_in(done.candidate.source) == [5.5, 6.5]


def test_two_elements_far_apart_are_found(fake):
    values = [0.5] * 100
    values[7], values[93] = 5.5, 6.5
    original, oracle = oracle_for(fake, [values], "x", lambda source: {5.5, 6.5} <= set(numbers_in(source)))
    done = reduce(Candidate(original), oracle, MemoryJournal())
    assert numbers_in(done.candidate.source) == [5.5, 6.5]


def test_many_elements_are_no_easier_to_read(fake):
    values = [0.5 + i for i in range(300)]
    original, oracle = oracle_for(fake, [values], "x", lambda source: len(numbers_in(source)) >= 40)
    done = reduce(Candidate(original), oracle, MemoryJournal())
    assert "randn(300)" in done.candidate.source


@pytest.mark.parametrize(
    ("captured", "parameter"),
    [
        ("torch.tensor([0.5, 7.5, 0.5]).requires_grad_()", "l_x_"),
        ("torch.tensor([0.5, 7.5, 0.5])", "l_x_"),
        ("torch.tensor([0.5, 7.5, 0.5])", "x"),
    ],
)
def test_values_are_read_however_the_capture_writes_them(captured, parameter):
    text = PROGRAM.format(parameters=parameter, inputs=captured)
    later = PROGRAM.format(parameters=parameter, inputs="torch.tensor([1.0, 1.0, 1.0])")
    values = _values([text.replace(captured, "torch.randn(3)"), text, later])
    assert {name: ast.unparse(value) for name, value in values.items()} == {"x": "torch.tensor([0.5, 7.5, 0.5])"}


@pytest.mark.parametrize(
    ("inputs", "worth"),
    [("torch.randn(2)", False), ("torch.rand(1, 1, 2)", False), ("torch.randn(3)", True), ("torch.randint(0, 9, ())", True)],
)
def test_a_capture_is_made_only_where_it_may_pay(inputs, worth):
    assert _are_drawn(PROGRAM.format(parameters="x", inputs=inputs)) is worth


def test_drawn_integers_are_written_out_as_they_are(fake):
    original = PROGRAM.format(parameters="x", inputs="torch.randint(-1, 1, (2, 2))")
    text = PROGRAM.format(parameters="l_x_", inputs="torch.tensor([[-1, 0], [0, -1]])")
    shows = re.compile(r"odd\(x\)(.|\n)*(randint\(-1, 1, \(2, 2\)\)|tensor\(\[\[-1, 0\], \[0, -1\]\]\))")
    done = reduce(Candidate(original), fake(lambda c: bool(shows.search(c.source)), flat=[original, text]), MemoryJournal())
    assert "torch.tensor([[-1, 0], [0, -1]])" in done.candidate.source


@pytest.mark.parametrize("count", [2, 50])
def test_what_needs_all_its_elements_stays_as_it_is(fake, count):
    values = [0.5 + i for i in range(count)]
    original, oracle = oracle_for(fake, [values], "x", lambda source: len(numbers_in(source)) >= count)
    done = reduce(Candidate(original), oracle, MemoryJournal())
    assert f"randn({count})" in done.candidate.source
