"""Canonical descriptions: equal for equal values, never an address, never a crash. In this process, without a runner."""

from __future__ import annotations

import collections
import dataclasses
import enum
import json
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
from workbench.runner.describe import NODE_LIMIT, Describer, State  # noqa: E402

pytestmark = pytest.mark.torch


def described(value: Any) -> Any:
    found = Describer(lambda tensor, path: {"tensor": path}).describe(value, "return")
    assert json.loads(json.dumps(found)) == found
    return found


class Point(NamedTuple):
    x: int
    y: Any


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Box:
    v: Any


class Slots:
    __slots__ = ("a", "unset")

    def __init__(self) -> None:
        self.a = 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (1.5, {"float": "1.5"}),
        (-0.0, {"float": "-0.0"}),
        (float("nan"), {"float": "nan"}),
        (complex(1, -0.0), {"complex": ["1.0", "-0.0"]}),
        ("text", "text"),
        ([1, "a"], [1, "a"]),
        ((1,), {"tuple": [1]}),
        (Point(1, 2), {"namedtuple": "Point", "fields": {"x": 1, "y": 2}}),
        ({"b": 1, "a": 2}, {"dict": [["b", 1], ["a", 2]]}),
        ({3, 1, 2}, {"set": [1, 2, 3]}),
        (slice(1, None), {"slice": [1, None, None]}),
        (range(3), {"range": [0, 3, 1]}),
        (torch.Size([2, 3]), {"size": [2, 3]}),
        (torch.float16, {"dtype": "float16"}),
        (torch.device("cpu"), {"device": "cpu"}),
        (Colour.RED, {"enum": "Colour.RED"}),
        (Box([1]), {"dataclass": "Box", "attributes": {"v": [1]}}),
        (Slots(), {"object": "Slots", "attributes": {"a": 1}}),
        (len, {"function": "len"}),
        (json, {"module": "json"}),
        (Box, {"class": "Box"}),
        (torch.nn.ReLU(), {"nn.Module": "ReLU"}),
        (collections.deque([1], 4), {"deque": [1], "maxlen": 4}),
        (collections.OrderedDict(a=1), {"dict": [["a", 1]], "class": "OrderedDict"}),
        (State(n=1), {"state": {"n": 1}}),
        (ValueError("x", 1), {"exception": "ValueError", "arguments": ["x", 1]}),
    ],
)
def test_values_have_one_plain_form(value: Any, expected: Any) -> None:
    assert described(value) == expected


def test_true_and_one_and_one_point_zero_are_three_values() -> None:
    assert len({json.dumps(described(v)) for v in (True, 1, 1.0)}) == 3


def test_tensors_stand_as_their_path() -> None:
    tree = {"a": [torch.ones(1)], 3: (torch.ones(1),), "o": Box(torch.ones(1))}
    assert described(tree)["dict"][0] == ["a", [{"tensor": "return['a'][0]"}]]
    assert described(tree)["dict"][1] == [3, {"tuple": [{"tensor": "return[3][0]"}]}]
    assert described(tree)["dict"][2][1]["attributes"] == {"v": {"tensor": "return['o'].v"}}


def test_an_object_that_holds_itself_ends_in_a_cycle() -> None:
    box = Box(None)
    box.v = [box]
    assert described(box) == {"dataclass": "Box", "attributes": {"v": [{"cycle": "return"}]}}


def test_the_same_list_twice_is_no_cycle() -> None:
    inner = [1]
    assert described([inner, inner]) == [[1], [1]]


def test_no_address_of_a_plain_object_is_told() -> None:
    class Thing:
        pass

    assert "0x" not in json.dumps(described([Thing(), Thing, lambda: 1, object()]))


def test_a_class_that_lies_and_raises_is_described_all_the_same() -> None:  # a case does this: pytorch#174050
    class Liar:
        @property
        def __class__(self) -> type:  # type: ignore[override]
            return int

        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    assert described(Liar())["object"].endswith("Liar")


def test_huge_values_are_cut_with_a_mark() -> None:
    found = described([[0] * 900 for _ in range(900)])
    assert len(json.dumps(found)) < 40 * NODE_LIMIT
    assert "truncated" in json.dumps(found)
    text = described("a" * 100_000)
    assert text["length"] == 100_000
    assert text != described("a" * 99_999 + "b")


def test_subclasses_of_containers_keep_their_class_and_attributes() -> None:
    class Row(list):  # type: ignore[type-arg]
        pass

    row = Row([1])
    row.name = "n"  # type: ignore[attr-defined]
    found = described(row)
    assert found["list"] == [1]
    assert found["attributes"] == {"name": "n"}


def test_numpy_arrays_become_leaves() -> None:
    numpy = pytest.importorskip("numpy")
    assert described(numpy.zeros(2)) == {"numpy": "ndarray", "dtype": "float64", "value": {"tensor": "return"}}
    assert described(numpy.array(["a"]))["numpy"] == "ndarray"


def test_operators_are_their_names_whatever_their_caches_hold():
    packet = torch.ops.aten.add
    before = described([packet, packet.Tensor, torch.library.Library("described", "FRAGMENT")])
    packet.out(torch.ones(2), torch.ones(2), out=torch.ones(2))  # found on first use, and kept
    assert described([packet, packet.Tensor, torch.library.Library("described", "FRAGMENT")]) == before
    assert before[0] == {"operator": "aten.add"}
