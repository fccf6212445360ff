"""Mutators: the same number gives the same mutant, the text changes and parses, and most mutants run in eager."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.records import Program
from workbench.characteristics import catalogue
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import Maker, Pick
from workbench.fuzz.mutators import mutators
from workbench.fuzz.subject import Subject
from workbench.programs import parse_block
from workbench.seeds import bundled

SOURCE = '''"""Two inputs, two locals."""
import torch


def fn(x, y):
    z = x * 2
    w = z + y
    if w.shape[0] > 100:
        return w
    return z, w


def get_inputs():
    return [torch.arange(16.0).reshape(4, 4), torch.ones(4, 4)]
'''
PLAIN = {"function": "fn", "shape": [4, 4], "dtype": "float32", "stride": [4, 1], "numel": 16, "integral": True, "low": 0.0, "high": 15.0}
FACTS = {
    "values": [
        {**PLAIN, "name": "x", "line": 5, "storage": 0, "position": 0},
        {**PLAIN, "name": "y", "line": 5, "storage": 1, "position": 1},
        {**PLAIN, "name": "z", "line": 6, "storage": 2},
        {**PLAIN, "name": "w", "line": 7, "storage": 3},
    ],
    "lines": {"fn": [6, 7, 8, 10]},
}
EVERY = sorted(mutators())


def mutant(name: str, number: int) -> tuple[Program, str] | None:
    subject = Subject(Program(SOURCE, name="seed:two"), FACTS)
    variant = mutators()[name].apply(subject, Draw(number, name))
    return None if variant is None else (subject.result(), variant)


@pytest.mark.parametrize("name", EVERY)
def test_the_same_number_gives_the_same_mutant(name):
    for number in range(10):
        assert mutant(name, number) == mutant(name, number)


@pytest.mark.parametrize("name", EVERY)
def test_mutants_parse_and_differ_from_the_seed_and_among_themselves(name):
    made = [m for number in range(30) if (m := mutant(name, number)) is not None]
    assert made, "nothing to work on in a program with four ordinary matrices"
    texts = set()
    for program, variant in made:
        assert variant
        assert ast.dump(ast.parse(program.source)) != ast.dump(ast.parse(SOURCE)) or program.configuration.non_default()
        assert parse_block(program.source) == program.configuration
        texts.add(program.source)
    assert len(texts) >= 4


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(EVERY), st.integers(0, 2**40))
def test_no_number_breaks_a_mutator(name, number):
    made = mutant(name, number)
    if made is not None:
        compile(made[0].source, "mutant", "exec")


def test_there_are_forty_rules_over_every_trigger_code():
    codes = {catalogue()[c].code for m in mutators().values() for c in m.characteristics}
    assert len(mutators()) >= 40
    assert codes >= {"NT", "PO", "AM", "BV", "OS", "SR", "MD", "LC", "EN"}


def test_a_value_is_only_used_where_it_is_bound():
    subject = Subject(Program(SOURCE), FACTS)
    assert [sorted(site.live) for site in subject.sites] == [["x", "y"], ["x", "y", "z"], ["w", "x", "y", "z"], ["w", "x", "y", "z"]]


def test_what_is_observed_is_returned_behind_the_insertion_and_not_before():
    subject = Subject(Program(SOURCE), FACTS)
    subject.insert(subject.sites[-1], "extra = w + 1")
    subject.observe("extra", "extra * 2")
    assert "return w\n" in subject.result().source
    assert "return (z, w, extra, extra * 2)" in subject.result().source


def test_a_fresh_name_is_used_by_nobody():
    subject = Subject(Program(SOURCE), FACTS)
    assert subject.fresh("q") == "q"
    assert subject.fresh("q") == "q2"
    assert subject.fresh("x") == "x2"


@pytest.mark.torch
def test_seven_of_ten_mutants_run_in_eager(pool):
    seeds, maker = bundled(), Maker(pool)
    invalid, made = [], 0
    for name, mutator in mutators().items():
        for number in range(2):
            draw = Draw(number, "valid", name)
            found = maker.make(Pick(number, draw, mutator, [draw.choice(seeds) for _ in range(3)]))
            if found is not None:
                made += 1
                if not found.valid:
                    invalid.append((found.chain, found.seed, found.outcome, found.why))
    assert made >= 1.8 * len(mutators())
    assert len(invalid) <= 0.3 * made, invalid


@pytest.mark.quality
@pytest.mark.parametrize("name", EVERY)
def test_two_thirds_of_the_mutants_of_every_rule_run_in_eager(name, pool):
    seeds, maker = bundled(), Maker(pool)
    valid = made = 0
    for number in range(40):
        draw = Draw(number, "each", name)
        found = maker.make(Pick(number, draw, mutators()[name], [draw.choice(seeds) for _ in range(3)]))
        made += found is not None
        valid += found is not None and found.valid
    assert made >= 20
    assert valid >= 0.6 * made
