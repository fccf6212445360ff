"""The skeleton names what a bug hangs on and nothing that a person would call filler."""

from dataclasses import replace

import pytest

from store.records import Configuration, Difference, Outcome, Stage, Symptom, Verdict
from workbench.signature import signature, skeleton

HEAD = "import torch\n"


def verdict(*paths: str, **changes) -> Verdict:
    differences = tuple(Difference(path, Symptom.VALUE) for path in paths)
    return Verdict(Outcome.MISMATCH, symptoms=(Symptom.VALUE,), stage=Stage.INDUCTOR, differences=differences, **changes)


def test_names_of_variables_and_functions_do_not_matter():
    one = HEAD + "def fn(x):\n    y = x.t()\n    return torch.argmin(y)\n"
    two = HEAD + "def helper(a):\n    return a.t()\ndef fn(value):\n    return helper(value).argmin()\n"
    assert skeleton(one) == skeleton(two) == ("t~", "argmin")


def test_in_place_and_view_and_second_call_are_marked():
    text = HEAD + "def fn(x):\n    x[0] = 1\n    x.add_(1)\n    return x[1:]\ndef drive(fn, inputs):\n    return fn(*inputs), fn(*inputs)\n"
    assert skeleton(text) == ("setitem!", "add!", "getitem~", "+call:2")


def test_operators_and_their_functions_are_one_op():
    assert skeleton(HEAD + "fn = lambda x: -x * 2") == skeleton(HEAD + "def fn(x): return torch.mul(torch.neg(x), 2)")


def test_a_callable_made_by_a_builder_is_found():
    text = HEAD + "def build():\n    def f(x): return x.sin()\n    return f, (torch.ones(2),)\nfn, _inputs = build()\n"
    assert skeleton(text) == ("sin",)


def test_dtype_class_of_the_inputs_is_part_of_it():
    text = HEAD + "def fn(x): return -x\ndef get_inputs(): return [torch.tensor([1], dtype=torch.uint8)]\n"
    assert skeleton(text) == ("in:uint8", "neg")


def test_provisional_signature_forgets_filler_that_the_difference_does_not_depend_on():
    filler = HEAD + "def fn(x):\n    a = x.sin()\n    b = x.cumsum(0)\n    return a, b\n"
    plain = HEAD + "def fn(x):\n    return x.cumsum(0)\n"
    assert signature(verdict("return[1]"), filler).text() == signature(verdict("return"), plain).text()
    assert signature(verdict("return[1]"), filler).text() != signature(verdict("return[0]"), filler).text()


def test_configuration_is_part_of_it_where_it_is_the_bug():
    text = HEAD + "def fn(x): return x.sin()\n"
    dynamic = verdict("return", configuration=Configuration(dynamic=True))
    assert signature(dynamic, text, final=True).skeleton == ("sin", "+dynamic")


def test_text_that_does_not_parse_has_a_skeleton_of_its_own():
    assert skeleton("def fn(") == ("?",)


def test_forgotten_sizes_are_one_bug_whatever_changed_them_and_however_they_are_told():
    def of(write: str, symptom: Symptom) -> str:
        found = replace(verdict("return"), symptoms=(symptom,))
        return signature(found, f"{HEAD}def fn(x):\n    x.{write}\n    return list(x.shape)\n", final=True).text()

    assert of("squeeze_()", Symptom.STRUCTURE) == of("t_()", Symptom.PYVALUE) == of("as_strided_((2,), (1,))", Symptom.PYVALUE)
    assert of("t_()", Symptom.PYVALUE) != of("resize_(2)", Symptom.PYVALUE)
    assert of("t()", Symptom.PYVALUE) != of("t_()", Symptom.PYVALUE)


@pytest.mark.parametrize(("symptom", "apart"), [(Symptom.STRUCTURE, False), (Symptom.ALIAS, False), (Symptom.VALUE, True), (Symptom.DTYPE, True)])
def test_the_dtype_of_inputs_counts_only_where_numbers_are_wrong(symptom: Symptom, *, apart: bool):
    def of(dtype: str) -> str:
        text = HEAD + f"def fn(x):\n    y = x * 1\n    y.squeeze_()\n    return y.shape\ndef get_inputs(): return [torch.ones(1, dtype={dtype})]\n"
        return signature(replace(verdict("return"), symptoms=(symptom,)), text, final=True).text()

    assert (of("torch.int64") != of("torch.float32")) is apart
