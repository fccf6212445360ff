"""Each kind of warning in a verdict, beside a twin one step away that must not give it; a warning decides nothing."""

from __future__ import annotations

import pytest
from planted import program

from store.records import Outcome, Symptom, Verdict, Warning
from workbench.oracle.judge import Demand, Judge
from workbench.oracle.runs import Setting
from workbench.programs import parse_program
from workbench.runner.protocol import Limits
from workbench.servers import Pool

pytestmark = pytest.mark.torch
quality = pytest.mark.quality

SCALED = "plant(aten.exp.default, lambda x: x.exp() * {factor})"
EXP = "def fn(x):\n    return x.exp()\ndef get_inputs():\n    return [torch.linspace(-2, 3, 500)]\n"

WARNED = {
    Warning.OVERFLOW: ("{0} + i * 2", "torch.tensor([2**31 - 1, 5], dtype=torch.int32)", "torch.tensor([2**30 - 1, 5], dtype=torch.int32)"),
    Warning.OUT_OF_RANGE_CAST: ("{0} + (i * 1e4).to(torch.int16)", "torch.tensor([7.0, 1.0])", "torch.tensor([3.0, 1.0])"),
    Warning.DUPLICATE_INDICES: (
        "{0}.new_zeros(9).index_put((i,), torch.arange(2.0))",
        "torch.tensor([3, 3])",
        "torch.tensor([3, 4])",
    ),
    Warning.OVERLAPPING_MEMORY: ("i.add_({0})", "torch.zeros(3).as_strided((2, 2), (1, 1))", "torch.zeros(4).view(2, 2)"),
    Warning.EXTREME_VALUES: ("{0} + i", "torch.tensor([1e31, 1.0])", "torch.tensor([1e29, 1.0])"),
    Warning.SIGNED_ZERO: ("{0} + 1 / i", "torch.tensor([-0.0, 1.0])", "torch.tensor([0.5, 1.0])"),
    Warning.ASKS_IF_COMPILED: ("{0} + (i if torch.compiler.is_compiling() else i)", "torch.ones(2)", None),
}
"""By warning: an expression over ``{0}`` (a float scalar) and ``i``; ``i`` that warns; ``i`` that does not."""


@pytest.fixture
def judge(pool: Pool) -> Judge:
    return Judge(pool)


def check(judge: Judge, source: str, *, ladder: bool = False) -> Verdict:
    demand = Demand(ladder=ladder, confirm=False)
    return judge.check(parse_program(source, "program.py"), demand=demand, setting=Setting(limits=Limits(seconds=200.0)))


def assert_mismatch(verdict: Verdict, symptom: Symptom = Symptom.VALUE) -> None:
    assert verdict.outcome is Outcome.MISMATCH, f"{verdict.outcome} {verdict.noise} {verdict.reason}"
    assert symptom in verdict.symptoms


@quality
@pytest.mark.parametrize("warning", list(WARNED), ids=lambda w: w.value)
def test_a_warning_comes_with_its_cause_and_only_then(judge: Judge, warning: Warning):
    expression, warns, quiet = WARNED[warning]
    body = (
        "def fn(x, i):\n    held = x.exp()\n    return held, "
        + expression.format("held[0]")
        + "\ndef get_inputs():\n    return [torch.ones(4), {}]\n"
    )
    plant = SCALED.format(factor=1.5)
    verdict = check(judge, program(body.format(warns), plant))
    assert_mismatch(verdict)
    assert warning in verdict.warnings
    twin = program(body.format(quiet or warns), plant)
    if quiet is None:
        twin = twin.replace("torch.compiler.is_compiling()", "x.shape[0] == 3")
    assert warning not in check(judge, twin).warnings


def test_a_read_beyond_the_storage_is_warned_of_where_only_eager_refuses_it(judge: Judge):
    """Eager raises; planted, the compiled code reads what it can. The twin raises for another reason."""
    body = "def fn(x):\n    return x.exp().as_strided(({},), (1,)) + 1\ndef get_inputs():\n    return [torch.ones(4)]\n"
    plant = "plant(aten.as_strided.default, lambda x, *args: x.new_ones({}))"
    verdict = check(judge, program(body.format(6), plant.format(6)))
    assert_mismatch(verdict, Symptom.MISSING_ERROR)
    assert Warning.BEYOND_STORAGE in verdict.warnings
    other = "def fn(x):\n    return torch.linalg.cholesky(x) + 1\ndef get_inputs():\n    return [-torch.eye(3)]\n"
    twin = check(
        judge, program(other, "plant(aten.linalg_cholesky_ex.default, lambda x, **named: (x * 1, x.new_zeros((), dtype=torch.int32)))")
    )
    assert Warning.BEYOND_STORAGE not in twin.warnings


@quality
def test_a_storage_made_smaller_is_read_beyond_and_warned_of_in_a_value_mismatch(judge: Judge):
    """The last two elements are outside once a storage is cut; a whole storage is not."""
    body = (
        "def fn(x):\n    return x.exp(), (held * 2).sum() * 0\ndef get_inputs():\n    return [torch.ones(4)]\n"
        "whole = torch.ones(4096)\nheld = whole.view(-1)\n{}\n"
    )
    plant = SCALED.format(factor=1.5)
    verdict = check(judge, program(body.format("held.untyped_storage().resize_(4 * 4094)"), plant))
    assert_mismatch(verdict)
    assert Warning.BEYOND_STORAGE in verdict.warnings
    twin = check(judge, program(body.format("held.untyped_storage().resize_(4 * 4096)"), plant))
    assert_mismatch(twin)
    assert Warning.BEYOND_STORAGE not in twin.warnings


@pytest.mark.parametrize(("where", "matter"), [("torch.get_num_threads() == 1", True), pytest.param("True", False, marks=quality)])
def test_threads_matter_where_the_difference_is_gone_with_two(judge: Judge, where: str, matter: bool):
    """An error planted for one thread alone, and one for any number."""
    verdict = check(judge, program(EXP, SCALED.format(factor=f"(1.5 if {where} else 1)")), ladder=True)
    assert_mismatch(verdict)
    assert (Warning.THREADS_MATTER in verdict.warnings) is matter


@quality
def test_threads_matter_also_where_only_two_show_the_difference(judge: Judge):
    """Judged with two threads, as a block may ask: with one the same program agrees."""
    source = program(EXP, SCALED.format(factor="(1.5 if torch.get_num_threads() == 2 else 1)"))
    assert check(judge, source).outcome is Outcome.AGREE
    verdict = check(judge, source.replace("# grad", "# threads = 2\n# grad"), ladder=True)
    assert_mismatch(verdict)
    assert Warning.THREADS_MATTER in verdict.warnings


@quality
def test_eager_is_suspect_where_it_alone_is_far_from_the_truth(judge: Judge):
    """Eager's own float32 kernel is off by 1 % and compiled is right; where compiled is off by as much nobody suspects eager."""
    body = "def fn(x):\n    return torch.sinc(x)\ndef get_inputs():\n    return [torch.linspace(0.1, 0.7, 50)]\n"
    sinc = "(torch.pi * x).sin() / (torch.pi * x)"
    kernel = f'_kernels = torch.library.Library("aten", "IMPL")\n_kernels.impl("sinc", lambda x: {sinc} * (1.01 if x.dtype == torch.float32 else 1), "CPU")'
    verdict = check(judge, program(body, kernel))
    assert verdict.outcome is Outcome.NOISE  # compiled is right: no finding, but worth a word
    assert Warning.EAGER_SUSPECT in verdict.warnings
    twin = check(judge, program(body, f"plant_decomposition(aten.sinc.default, lambda x: {sinc} * 1.01)"))
    assert_mismatch(twin)
    assert Warning.EAGER_SUSPECT not in twin.warnings


@quality
def test_eager_is_suspect_only_where_the_truth_fits_its_type(judge: Judge):
    """exp(12) overflows half: infinity is right, and eager is not the suspect."""
    body = "def fn(x):\n    return x.exp()\ndef get_inputs():\n    return [torch.tensor([5.0, 12.0]).half()]\n"
    verdict = check(judge, program(body, "plant(aten.exp.default, lambda x: x.exp().clamp(max=65504))"))
    assert_mismatch(verdict)
    assert Warning.EAGER_SUSPECT not in verdict.warnings
