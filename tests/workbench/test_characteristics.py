"""The catalogue: every entry complete, implemented, and its programs run in eager."""

import ast

import pytest

from workbench.characteristics import CODES, catalogue, codes, named, parse
from workbench.errors import NotFoundError, WorkbenchError
from workbench.fuzz.mutators import mutators
from workbench.fuzz.tracing import facts_of
from workbench.programs import parse_program


def test_there_are_forty_characteristics_over_every_trigger_code():
    assert len(catalogue()) >= 40
    assert set(codes().values()) == set(CODES)


def test_every_characteristic_has_a_mutator_and_every_mutator_a_characteristic():
    used = {c for m in mutators().values() for c in m.characteristics}
    assert used == set(catalogue())
    assert all(m.characteristics for m in mutators().values())


@pytest.mark.parametrize("characteristic", catalogue().values(), ids=lambda c: c.id)
def test_before_and_after_are_different_programs_in_harness_form(characteristic):
    for text in (characteristic.before, characteristic.after):
        names = {s.name for s in ast.parse(text).body if isinstance(s, ast.FunctionDef)}
        assert {"fn", "get_inputs"} <= names
    assert characteristic.before != characteristic.after
    assert characteristic.do.endswith(".")
    assert characteristic.why.endswith(".")


def test_what_is_missing_or_unknown_in_an_entry_is_named():
    with pytest.raises(WorkbenchError, match="missing code"):
        parse("x", "title = 'a'")
    whole = "code='NT'\ntitle='a'\ndo='a'\nwhy='a'\nstages=[]\nsymptoms=[]\nbefore=''\nafter=''\n"
    with pytest.raises(WorkbenchError, match="unknown odd"):
        parse("x", whole + "odd=1")
    with pytest.raises(WorkbenchError, match="unknown code 'QQ'"):
        parse("x", whole.replace("NT", "QQ"))
    assert parse("x", whole).code == "NT"


def test_a_mistyped_name_gets_the_close_one():
    with pytest.raises(NotFoundError) as caught:
        named("self-overlaping-write")
    assert "self-overlapping-write" in caught.value.hint


@pytest.mark.torch
def test_every_before_and_after_runs_in_eager(pool):
    for characteristic in catalogue().values():
        for word in ("before", "after"):
            facts = facts_of(pool, parse_program(getattr(characteristic, word), characteristic.id))
            assert facts.returned, f"{characteristic.id} {word}: {facts.outcome} {facts.why}"
