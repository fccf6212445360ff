"""Bundled seeds: enough, ordinary, and equal eager and compiled in every configuration that mutants are judged in."""

import ast

import pytest

from store.records import Outcome, Program
from workbench.errors import NotFoundError
from workbench.fuzz.subject import Subject
from workbench.oracle.judge import Judge
from workbench.seeds import Seed, bundled, folder, named, seeds_of

CONFIGURATIONS = ({}, {"dynamic": True}, {"grad": True}, {"threads": 2})
SAMPLE = ("update_in_place", "call_counter", "transposed_input")


def test_there_are_eighty_bundled_seeds_each_with_a_line_about_it():
    found = bundled()
    assert len(found) >= 80
    assert len({s.name for s in found}) == len(found)
    assert all(s.about.endswith(".") for s in found)


def test_every_seed_is_in_harness_form_and_has_a_place_to_mutate():
    for seed in bundled():
        names = {s.name for s in ast.parse(seed.program.source).body if isinstance(s, ast.FunctionDef | ast.ClassDef)}
        assert "get_inputs" in names, seed.name
        assert Subject(seed.program, {}).entry is not None, seed.name


def test_seeds_of_a_folder_leave_out_what_is_no_program(tmp_path):
    (tmp_path / "one.py").write_text("def fn(x):\n    return x\n\ndef get_inputs():\n    return [1]\n")
    (tmp_path / "broken.py").write_text("def fn(:\n")
    (tmp_path / "other.py").write_text("print('hello')\n")
    assert [s.name for s in folder([tmp_path])] == ["one"]
    (tmp_path / "one.py").unlink()
    with pytest.raises(NotFoundError):
        folder([tmp_path])


def test_without_paths_the_bundled_seeds_are_meant():
    assert [s.name for s in seeds_of([])] == [s.name for s in bundled()]
    assert named("attention").origin == "bundled"
    with pytest.raises(NotFoundError):
        named("nothing_like_it")


def agree(judge: Judge, seed: Seed) -> None:
    for changes in CONFIGURATIONS:
        verdict = judge.check(Program(seed.program.source, seed.configuration.with_(**changes), seed.name))
        assert verdict.outcome in (Outcome.AGREE, Outcome.NOISE), (seed.name, changes, verdict.reason)


@pytest.mark.torch
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_seeds_agrees_in_every_configuration(name, pool):
    agree(Judge(pool), named(name))


@pytest.mark.quality
@pytest.mark.parametrize("seed", bundled(), ids=lambda s: s.name)
def test_every_seed_agrees_in_every_configuration(seed, pool):
    agree(Judge(pool), seed)
