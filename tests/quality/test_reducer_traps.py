"""Traps in which other reducers lose the bug or slide to another one (issue threads of PyTorch's minifier, and what was measured of it).

The wrong branches are planted behind ``is_compiling``, so that no C++ is compiled; the live ones are among the programs of the quality suite.
"""

from __future__ import annotations

import pytest

from reducers.tree import statements
from store.records import Outcome, Stage, Symptom
from workbench.programs import parse_program
from workbench.reduction import Reducer
from workbench.servers import Pool

pytestmark = [pytest.mark.quality, pytest.mark.torch]

FRAME = """import torch


def fn(x, y):
    a = y.cos()
    b = a + 1
    {right}
    if torch.compiler.is_compiling():
        {wrong}
    c = b.sum() * 2
    return z, c


def get_inputs():
    return [{inputs}, torch.randn(5)]
"""


def program(right, wrong, inputs):
    return FRAME.format(right=right, wrong=wrong, inputs=inputs)


TRAPS = {
    "only NaN differs": (
        program("z = x.clamp(min=0)", "z = torch.where(x > 0, x, 0.0)", 'torch.tensor([1.0, float("nan"), -1.0, 2.0])'),
        'float("nan")',
    ),
    "only a huge value differs": (program("z = x * 2", "z = x.clamp(max=1e12) * 2", "torch.tensor([1.0, 1.7e12, 3.0, 4.0])"), "1700000000000"),
    "only a negative zero differs": (program("z = 1 / x", "z = 1 / torch.where(x == 0, 0.0, x)", "torch.tensor([1.0, -0.0, 2.0])"), "-0.0"),
}


@pytest.fixture(scope="module")
def pool():
    with Pool(jobs=1) as made:
        yield made


@pytest.mark.parametrize("name", TRAPS)
def test_what_the_bug_needs_stays(pool, name):
    source, needed = TRAPS[name]
    reduced = Reducer(pool).run(parse_program(source, "trap.py"))
    assert needed.replace('"', "'") in reduced.program.source.replace('"', "'")
    assert statements(reduced.program.source) <= 5
    assert reduced.after.outcome is Outcome.MISMATCH
    assert set(reduced.before.symptoms) <= set(reduced.after.symptoms)


def test_a_candidate_that_crashes_when_compiled_is_another_bug(pool):
    source = program("z = x * 2", "z = x.view(2, 3).flatten() * 3", "torch.arange(6.0)")
    reduced = Reducer(pool).run(parse_program(source, "trap.py"))
    assert reduced.after.outcome is Outcome.MISMATCH
    assert Symptom.VALUE in reduced.after.symptoms


def test_eager_that_raises_goes_on_raising_the_same(pool):
    source = program('z = x * 2; torch._assert(bool((x < 3).all()), "too large")', "z = x * 2", "torch.arange(6.0)").replace(
        "    z = x * 2; torch._assert", "    z = x * 2\n    if not torch.compiler.is_compiling(): torch._assert"
    )
    reduced = Reducer(pool).run(parse_program(source, "trap.py"))
    assert reduced.after.symptoms == (Symptom.MISSING_ERROR,)
    assert reduced.after.stage is Stage.DYNAMO
    assert "too large" in reduced.program.source
