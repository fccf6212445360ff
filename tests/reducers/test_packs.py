"""Packs: several programs in one, and which of them a difference belongs to."""

from __future__ import annotations

from reducers.packs import packable, packed

ONE = "import math\n\nK = 2\n\ndef helper(a):\n    return a * K\n\ndef fn(x, y):\n    return helper(x) + y\n\ndef get_inputs():\n    return [1, 2]\n"
TWO = "import math\n\nK = 5\n\ndef fn(x):\n    return math.sqrt(x) + K\n\ndef get_inputs():\n    K = 16\n    return [K]\n"


def test_members_keep_their_own_names_and_return_side_by_side():
    pack = packed([ONE, TWO, ONE])
    names: dict = {}
    exec(pack.source, names)
    assert names["fn"](*names["get_inputs"]()) == (4, 9.0, 4)
    assert pack.source.count("import math") == 1


def test_a_path_belongs_to_the_member_that_returned_or_took_it():
    pack = packed([ONE, TWO, ONE])
    assert pack.showing(["return[1]", "return[2][0].x", "inputs[4]", "gradients.inputs[2]"]) == {
        1: ["return", "gradients.inputs[0]"],
        2: ["return[0].x", "inputs[1]"],
    }
    assert pack.showing(["globals.K", "modes.grad"]) == {}


def test_programs_that_are_exercised_in_another_way_are_no_members():
    assert packable(ONE)
    assert not packable(ONE + "\ndef drive(f, inputs):\n    return f(*inputs)\n")
    assert not packable("class Model:\n    pass\n\ndef get_inputs():\n    return []\n")
    assert not packable(ONE.replace("def fn(x, y)", "def fn(x, y=1)"))
    assert not packable(ONE.replace("    return [1, 2]", "    return make()"))
