"""The comment of a repro reads as a sentence."""

from __future__ import annotations

import pytest

from store.records import Difference, Element, Symptom
from workbench.remark import compiled_with, place, sentence


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("return", "the result"),
        ("return[1]", "the second result"),
        ("inputs[0]", "the first input after the call"),
        ("gradients.inputs[2]", "the gradient of the third input"),
        ("return[12]", "result 12"),
        ("modes.grad", "modes.grad"),
    ],
)
def test_places_are_named_as_people_name_them(path, words):
    assert place(path) == words


def test_an_element_is_told_with_both_values():
    told = Difference("return[1]", Symptom.VALUE, elements=(Element((2, 0), "0", "1"),))
    assert sentence(told, compiled_with("inductor")) == "element [2, 0] of the second result is 0 in eager and 1 when compiled"


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ("dtype int64, compiled uint8", "the result has dtype int64 in eager and uint8 when compiled"),
        ("shape [2, 2], compiled [2]", "the result has shape [2, 2] in eager and [2] when compiled"),
        (
            "return and inputs[0] share memory in eager, not in compiled",
            "the result and the first input share memory in eager and not when compiled",
        ),
        ("['tuple'][0][0]: 0 only in compiled", "the result has 0 only when compiled"),
        ("value: eager 1, compiled 2", "the result is 1 in eager and 2 when compiled"),
    ],
)
def test_what_has_no_elements_is_told_too(detail, words):
    assert sentence(Difference("return", Symptom.SHAPE, detail=detail), "when compiled") == words


def test_another_backend_is_named():
    assert compiled_with("aot_eager") == 'when compiled with backend="aot_eager"'
