"""Comparison before any excuse: masks exactly, integers exactly, default tolerances (DESIGN §3 Float rule)."""

from __future__ import annotations

import numpy as np
import pytest
from observed import observation

from store.records import Symptom
from workbench.oracle.compare import compare
from workbench.oracle.difference import difference
from workbench.oracle.observation import ForgedError, Observation


def symptoms(eager: Observation, compiled: Observation) -> set[Symptom]:
    return {d.symptom for d in compare(eager, compiled).open}


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_equal_observations_have_no_difference():
    one = observation({"return": floats(1, np.nan, np.inf)}, python={"return": {"tensor": "return"}})
    assert compare(one, one).equal


@pytest.mark.parametrize(
    ("eager", "compiled", "symptom"),
    [
        (floats(np.nan, 1), floats(0, 1), Symptom.NAN),
        (floats(np.inf, 1), floats(-np.inf, 1), Symptom.VALUE),
        (floats(np.inf, 1), floats(3.4e38, 1), Symptom.VALUE),
        (floats(1, 1), floats(1, 1.001), Symptom.VALUE),
        (np.array([2**53 + 1]), np.array([2**53]), Symptom.VALUE),
        (floats(1, 2), np.array([1.0, 2.0]), Symptom.DTYPE),
        (floats(1, 2), floats(1), Symptom.SHAPE),
        (np.array([True]), np.array([False]), Symptom.VALUE),
        (np.array([1 + 1j], np.complex64), np.array([1 + 2j], np.complex64), Symptom.VALUE),
    ],
)
def test_what_differs_gets_its_symptom(eager: np.ndarray, compiled: np.ndarray, symptom: Symptom):
    assert symptoms(observation({"return": eager}), observation({"return": compiled})) == {symptom}


def test_one_wrong_element_among_many_is_seen():  # torch._dynamo.utils.same misses it in bfloat16
    values = np.ones(100_000, np.float32)
    other = values.copy()
    other[777] = 2
    (found,) = compare(observation({"return": values}), observation({"return": other})).open
    told = difference(found)
    assert told.mismatched == 1
    assert told.elements[0].index == (777,)


def test_within_default_tolerance_is_equal():
    assert compare(observation({"return": floats(1)}), observation({"return": floats(1 + 1e-6)})).equal


@pytest.mark.parametrize(
    ("path", "symptom"), [("inputs[0]", Symptom.MUTATION), ("buffers.n", Symptom.MUTATION), ("globals.x", Symptom.MUTATION), ("gradients.inputs[0]", Symptom.GRADIENT)]
)
def test_the_section_names_the_symptom(path: str, symptom: Symptom):
    assert symptoms(observation({path: floats(1)}), observation({path: floats(2)})) == {symptom}


def test_sign_of_zero_is_no_difference_but_told():
    found = compare(observation({"return": floats(0.0)}), observation({"return": floats(-0.0)}))
    assert found.equal
    assert found.signed_zero == ["return"]


def test_stride_is_weak():
    left, right = observation({"return": np.zeros((2, 3), np.float32)}), observation({"return": np.zeros((3, 2), np.float32).T})
    found = compare(left, right)
    assert found.equal
    assert [d.symptom for d in found.weak] == [Symptom.STRIDE]


def test_stride_of_a_dimension_of_one_means_nothing():
    left = observation({"return": (floats(1).reshape(1, 1), {"stride": [7, 1]})})
    assert not compare(left, observation({"return": floats(1).reshape(1, 1)})).weak


def test_python_values_and_structure():
    def told(value: object) -> Observation:
        return observation(python={"return": value})

    assert symptoms(told([1, 2]), told([1, 3])) == {Symptom.PYVALUE}
    assert symptoms(told([1, 2]), told([1, 2, 3])) == {Symptom.STRUCTURE}
    assert symptoms(told({"a": 1}), told({"b": 1})) == {Symptom.STRUCTURE}
    assert symptoms(told("1"), told(1)) == {Symptom.STRUCTURE}


def test_shared_memory_on_one_side_is_an_alias_difference():
    leaves = {"return": floats(1), "inputs[0]": floats(1)}
    pair = [["return", "inputs[0]"]]
    assert symptoms(observation(leaves, aliases=pair), observation(leaves)) == {Symptom.ALIAS}
    assert symptoms(observation(leaves), observation(leaves, probed=pair)) == {Symptom.ALIAS}
    assert compare(observation(leaves, aliases=pair), observation(leaves, aliases=pair, probed=pair)).equal


def test_modes_and_random_state():
    assert symptoms(observation(modes={"grad": True}), observation(modes={"grad": False})) == {Symptom.MODES}
    assert symptoms(observation(rng={"torch": "a"}), observation(rng={"torch": "b"})) == {Symptom.RNG}


def test_a_missing_leaf_is_structure_or_gradient():
    assert symptoms(observation({"return[0]": floats(1)}), observation()) == {Symptom.STRUCTURE}
    assert symptoms(observation({"gradients.w": floats(1)}), observation()) == {Symptom.GRADIENT}


@pytest.mark.parametrize(
    "document",
    [
        {"outcome": "fine"},
        {"outcome": "returned", "leaves": [{"path": "x"}]},
        {"outcome": "returned", "leaves": 3},
        {"outcome": "raised"},
        {"outcome": "returned", "aliases": [1]},
    ],
)
def test_a_document_of_another_form_is_forged(document: dict[str, object]):
    with pytest.raises(ForgedError):
        Observation(document, memoryview(b""))


def test_a_blob_outside_the_result_is_forged():
    leaf = {"path": "return", "dtype": "float32", "shape": [4], "blob": [0, 16]}
    observed = Observation({"outcome": "returned", "leaves": [leaf]}, memoryview(b"1234"))
    with pytest.raises(ForgedError):
        _ = observed.leaves["return"].array


def test_a_distance_from_zero_has_no_relative_size():
    (found,) = compare(observation({"return": floats(0, 2)}), observation({"return": floats(1, 3)})).open
    told = difference(found)
    assert told.max_abs == 1
    assert told.max_rel == 0.5
    assert told.max_ulp == 2**23
