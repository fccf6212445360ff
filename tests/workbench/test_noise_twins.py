"""Twins: the same program with a harmless and with a harmful change planted below Dynamo, one a kind of noise.

What must be caught, beside each other what must not: a relative error of 1e-4 (and 1e-5) in float32, bfloat16 inside float32, one element of
100,000, a missing summand, a reversed small tensor, a wrong eps, half types 5 % off, a decision that flips away from its border, a wrong
gradient; also inside programs whose other outputs are random, uninitialised or ill-conditioned.
"""

from __future__ import annotations

import pytest
from planted import program

from store.records import NoiseKind, Outcome, Stage, Symptom, Verdict
from workbench.oracle.judge import Demand, Judge
from workbench.oracle.runs import Setting
from workbench.programs import parse_program
from workbench.runner.protocol import Limits
from workbench.servers import Pool

pytestmark = pytest.mark.torch
quality = pytest.mark.quality

EXP = "def fn(x):\n    return x.exp()\ndef get_inputs():\n    return [torch.linspace(-2, 3, 500)]\n"
MANY = "def fn(x):\n    return x.exp()\ndef get_inputs():\n    return [torch.linspace(-2, 3, 100_000)]\n"
SUM = "def fn(x):\n    return x.sum(1), (x * x).sum(1)\ndef get_inputs():\n    return [torch.rand(50, 257)]\n"
SMALL = "def fn(x):\n    return (x * 3).sin().exp()\ndef get_inputs():\n    return [torch.tensor([0.1, 0.2, 0.3, 0.4])]\n"
SOFTMAX = "def fn(x):\n    return (x @ x.t() / 50).softmax(-1)\ndef get_inputs():\n    return [torch.randn(30, 200)]\n"
LOG_SOFTMAX = "def fn(x):\n    return x.softmax(-1).log()\ndef get_inputs():\n    return [torch.randn(30, 40) * 8]\n"
EXP_HALF = "def fn(x):\n    return (x * 0.3).exp() + 1\ndef get_inputs():\n    return [torch.randn(400).{dtype}()]\n"
NORM = """\
def fn(x, w):
    return torch.nn.functional.layer_norm(x, (16,), w)
def get_inputs():
    return [torch.randn(40, 16) * 0.03, torch.rand(16)]
"""
DROPOUT = "def fn(x):\n    return torch.nn.functional.dropout(x, 0.4).exp()\ndef get_inputs():\n    return [torch.randn(300)]\n"
EMPTY = """\
def fn(x):
    held = torch.empty(4000)
    held[:500] = x.exp()
    return held
def get_inputs():
    return [torch.linspace(-2, 3, 500)]
"""
URANDOM = """\
import os
def fn(x):
    y = x.exp()
    y[0] += os.urandom(1)[0] / 7 + os.urandom(1)[0]
    return y
def get_inputs():
    return [torch.linspace(-2, 3, 500)]
"""
OVERFLOW = "def fn(x):\n    return (x * 600 * 600 / 600).exp() * 0 + x.exp()\ndef get_inputs():\n    return [torch.tensor([0.5, 1.0, 1.5]).half()]\n"
TIES = """\
def fn(x):
    return x.argmax(1)
def get_inputs():
    return [torch.tensor([[1.0, 5, 5, 2], [7, 0, 7, 7]])]
"""
BORDER = """\
def fn(x):
    total = x.sum(1)
    return {decision}
def get_inputs():
    return [torch.cat([torch.rand(200, 10) * 3, torch.full((1000, 10), 0.1) * torch.arange(1.0, 1001)[:, None]])]
"""
"""The sums of the last 1000 rows are whole numbers but for rounding: another order flips some; those of the first 200 lie anywhere."""
HALF_GRADIENT = "def fn(x, w):\n    return (x.abs() * w).sum(1)\ndef get_inputs():\n    return [torch.randn(20, 30).bfloat16(), torch.randn(20, 30).bfloat16()]\n"

SCALED = "plant(aten.exp.default, lambda x: x.exp() * {factor})"
OTHER_ORDER = """
def _reversed(x, dim, keepdim=False, *, dtype=None):
    total = x.flip(dim).cumsum(dim[0]).select(dim[0], -1)
    return total.unsqueeze(dim[0]) if keepdim else total
plant(aten.sum.dim_IntList, _reversed)
"""
MISSING = """
def _short(x, dim, keepdim=False, *, dtype=None):
    return x.narrow(dim[0], 0, x.shape[dim[0]] - 1).sum(dim, keepdim)
plant(aten.sum.dim_IntList, _short)
"""
ONE_WRONG = """
def _one(x):
    y = x.exp()
    y[{at}] *= {factor}
    return y
plant(aten.exp.default, _one)
"""
LAST_TIE = "plant(aten.argmax.default, lambda x, dim=None, keepdim=False: x.shape[dim] - 1 - x.flip(dim).argmax(dim, keepdim))"
SECOND = "plant(aten.argmax.default, lambda x, dim=None, keepdim=False: x.argsort(dim).select(dim, 0))"
SIGN = "for op in (aten.sign.default, aten.sgn.default):\n    plant(op, lambda x: x.sign() * {factor})"


@pytest.fixture
def judge(pool: Pool) -> Judge:
    return Judge(pool)


def check(judge: Judge, source: str, *, ladder: bool = False) -> Verdict:
    demand = Demand(ladder=ladder, confirm=False)
    return judge.check(parse_program(source, "program.py"), demand=demand, setting=Setting(limits=Limits(seconds=200.0)))


def told(verdict: Verdict) -> str:
    return f"{verdict.outcome} {[s.value for s in verdict.symptoms]} {verdict.stage} {verdict.noise} {verdict.reason}"


def assert_noise(verdict: Verdict, *kinds: NoiseKind) -> None:
    assert verdict.outcome is Outcome.NOISE, told(verdict)
    assert verdict.noise is not None
    assert verdict.noise.kind in kinds, told(verdict)


def assert_real(verdict: Verdict, symptom: Symptom = Symptom.VALUE, stage: Stage = Stage.INDUCTOR) -> None:
    assert verdict.outcome is Outcome.MISMATCH, told(verdict)
    assert symptom in verdict.symptoms, told(verdict)
    assert verdict.stage is stage, told(verdict)


def case(name: str, *values: object, default: bool = False) -> object:
    """One parameter set; all but the most telling ones wait for the quality run."""
    return pytest.param(*values, id=name, marks=() if default else quality)


@pytest.mark.parametrize(
    ("body", "plant"),
    [
        case("1e-4", EXP, SCALED.format(factor=1 + 1e-4), default=True),
        case("1e-5", EXP, SCALED.format(factor=1 + 1e-5)),
        case("bfloat16 leak", EXP, "plant(aten.exp.default, lambda x: x.bfloat16().exp().float())"),
        case("half leak", EXP, "plant(aten.exp.default, lambda x: x.half().float().exp())"),
        case("one of 100,000", MANY, ONE_WRONG.format(at=77_777, factor=1 + 1e-3), default=True),
        case("last of 100,000", MANY, ONE_WRONG.format(at=-1, factor=1 + 1e-4)),
        case("missing summand", SUM, MISSING),
        case("reversed", SMALL, "plant(aten.exp.default, lambda x: x.exp().flip(0))"),
        case("softmax", SOFTMAX, SCALED.format(factor="(1 + 1e-4 * (x > -0.5))")),
        case("log of softmax", LOG_SOFTMAX, SCALED.format(factor="(1 + 1e-2 * (x < -8))")),
        case("bfloat16 5 %", EXP_HALF.format(dtype="bfloat16"), SCALED.format(factor=1.05)),
        case("half 1 %", EXP_HALF.format(dtype="half"), SCALED.format(factor=1.01)),
        case("one half", EXP_HALF.format(dtype="half"), ONE_WRONG.format(at=200, factor=1.02)),
        case("double 1e-6", EXP_HALF.format(dtype="double"), SCALED.format(factor=1 + 1e-6)),
        case("eps", NORM, "plant(aten.rsqrt.default, lambda x: (x - 9e-6).rsqrt())", default=True),
    ],
)
def test_a_planted_error_is_no_rounding(judge: Judge, body: str, plant: str):
    """Relative 1e-4 and 1e-5 in float32, bf16 and half inside float32, one of 100,000, a missing summand, a flip, 1 % of probabilities below
    e-8 seen through a logarithm, 5 % in bf16, 1 % in half, 1e-6 in double, an eps of 1e-6 for 1e-5."""
    assert_real(check(judge, program(body, plant)))


@pytest.mark.parametrize(
    ("body", "plant"),
    [
        case("sum", SUM, OTHER_ORDER),
        case("softmax", SOFTMAX, OTHER_ORDER),
        case("last bit", EXP, SCALED.format(factor=1 + 2e-7)),
        case("bfloat16", EXP_HALF.format(dtype="bfloat16"), "plant(aten.exp.default, lambda x: x.float().exp().bfloat16())"),
    ],
)
def test_another_order_or_the_last_bit_is_no_finding(judge: Judge, body: str, plant: str):
    assert check(judge, program(body, plant)).outcome in (Outcome.AGREE, Outcome.NOISE)


@quality
def test_a_wrong_decomposition_is_found_at_its_stage(judge: Judge):
    plant = "plant_decomposition(aten.hardswish.default, lambda x: x * (x + 3).clamp(0, 6) / 6.001)"
    body = "def fn(x):\n    return torch.nn.functional.hardswish(x)\ndef get_inputs():\n    return [torch.randn(300)]\n"
    assert_real(check(judge, program(body, plant)), stage=Stage.DECOMPOSITION)


@quality
def test_cancellation_is_rounding_but_a_wrong_summand_is_not(judge: Judge):
    body = "def fn(x):\n    return x.sum(1) - 997_500\ndef get_inputs():\n    return [torch.rand(50, 997) + 1000]\n"
    assert check(judge, program(body, OTHER_ORDER)).outcome in (Outcome.AGREE, Outcome.NOISE)
    assert_real(check(judge, program(body, MISSING)))


def test_ties_may_go_to_another_index_but_not_to_another_value(judge: Judge):
    """The last of equal maxima is noise; the smallest element is not."""
    assert_noise(check(judge, program(TIES, LAST_TIE)), NoiseKind.TIES)
    assert_real(check(judge, program(TIES, SECOND)))


DECISIONS = [
    ("total.floor()", "plant(aten.floor.default, lambda x: (x + 1e-2).floor())", Symptom.VALUE),
    (
        "torch.bucketize(total, torch.arange(0.0, 10000.0))",
        "plant(aten.bucketize.Tensor, lambda x, b, **k: torch.bucketize(x + 1e-2, b))",
        Symptom.VALUE,
    ),
    ("total >= total.round()", "plant(aten.ge.Tensor, lambda x, y: x >= y + 1e-2)", Symptom.VALUE),
    ("total.to(torch.int32)", "plant(prims.convert_element_type.default, lambda x, t: (x + 1e-2).to(t))", Symptom.VALUE),
    (
        "torch.stack([total.floor(), total], 1).argmax(1)",
        "plant(aten.argmax.default, lambda x, dim=None, keepdim=False: x.argmin(dim))",
        Symptom.VALUE,
    ),
]


@pytest.mark.parametrize(
    ("decision", "plant", "symptom"),
    [case(d[0].split("(")[0], *d, default=d is DECISIONS[0]) for d in DECISIONS],
)
def test_a_decision_at_its_border_may_flip_but_not_elsewhere(judge: Judge, decision: str, plant: str, symptom: Symptom):
    """floor, bucketize, a comparison, float to int, argmax of a rounded sum: another order of the sum flips some, and is noise; a border moved
    by 0.01 flips others, and is not, though the very same elements flip as well."""
    body = "prims = torch.ops.prims\n" + BORDER.format(decision=decision)
    harmless = check(judge, program(body, OTHER_ORDER))
    assert_noise(harmless, NoiseKind.NUDGE, NoiseKind.TIES)
    assert_real(check(judge, program(body, "prims = torch.ops.prims", plant)), symptom)


COUNT = "def fn(x):\n    total = x.sum(1)\n    return (total >= total.round()).sum()\ndef get_inputs():\n    return [torch.full((1000, 10), 0.1) * torch.arange(1.0, 1001)[:, None]]\n"


@quality
def test_a_count_of_many_flips_may_move_as_far_as_another_order_moves_it(judge: Judge):
    """Another order of the sums flips hundreds of 1000 rows the same way, which no 24 random nudges reach; a count beyond all rows, and one
    beside rows that cannot flip, are wrong."""
    assert_noise(check(judge, program(COUNT, OTHER_ORDER)), NoiseKind.NUDGE)
    planted = "plant(aten.sum.default, lambda x, *, dtype=None: x.sum(dtype=dtype) + 400)"
    assert_real(check(judge, program(COUNT, planted)))
    fixed = COUNT.replace("total.round()", "total.round() - 0.25 + 0.5 * (x[:, 0] > 20)")
    assert_real(check(judge, program(fixed, planted.replace("400", "1"))))


@quality
def test_numbers_text_and_shapes_read_out_of_rounded_sums_move_with_them(judge: Judge):
    """Python floats, text and a number of rows may be where nudged eager has them; those of a sum without its last summand are not."""
    decision = "[(t - t.round()).item() * 1e3 for t in total[200:209]], f'{(total[999] - total[999].round()).item():.6f}', x[207:212][(total >= total.round())[207:212]]"
    body = BORDER.format(decision=decision)
    assert_noise(check(judge, program(body, OTHER_ORDER)), NoiseKind.NUDGE)
    verdict = check(judge, program(body, MISSING))
    assert verdict.outcome is Outcome.MISMATCH, told(verdict)
    assert {Symptom.SHAPE, Symptom.PYVALUE} & set(verdict.symptoms), told(verdict)


@pytest.mark.parametrize("factor", [case("everywhere", "1.1"), case("few", "(1 + 0.5 * (x > 2))", default=True)])
def test_a_wrong_gradient_in_bfloat16_is_no_noise(judge: Judge, factor: str):
    """10 % off everywhere, and 50 % off in the few elements beyond 2."""
    assert_real(check(judge, program(HALF_GRADIENT, SIGN.format(factor=factor), grad=True)), Symptom.GRADIENT)


@quality
def test_a_right_gradient_in_bfloat16_is_no_finding(judge: Judge):
    body = HALF_GRADIENT.replace("x.abs() * w", "torch.tanh(x * w) * x.abs().exp()")
    assert check(judge, program(body, grad=True)).outcome in (Outcome.AGREE, Outcome.NOISE)


def test_uninitialised_elements_hide_nothing_beside_them(judge: Judge):
    assert check(judge, program(EMPTY)).outcome in (Outcome.AGREE, Outcome.NOISE)
    assert_real(check(judge, program(EMPTY, SCALED.format(factor=1 + 1e-4))))


@quality
def test_elements_that_eager_itself_varies_hide_nothing_beside_them(judge: Judge):
    assert_noise(check(judge, program(URANDOM)), NoiseKind.NONDETERMINISTIC, NoiseKind.UNINITIALISED)
    assert_real(check(judge, program(URANDOM, SCALED.format(factor=1 + 1e-4))))


def test_another_random_stream_hides_no_wrong_value(judge: Judge):
    assert_noise(check(judge, program(DROPOUT)), NoiseKind.RANDOM_STREAM)
    verdict = check(judge, program(DROPOUT, SCALED.format(factor=1 + 1e-3)))
    assert_real(verdict)


@quality
def test_a_missing_overflow_is_low_precision_only_where_a_wider_type_hides_it(judge: Judge):
    """A product that eager overflows in half and Inductor keeps in float32 is noise; a planted clamp below infinity is not."""
    noise = "def fn(x):\n    return x * 300 * 300 / 1000\ndef get_inputs():\n    return [torch.tensor([0.5, 1.0, 1.5]).half()]\n"
    assert_noise(check(judge, program(noise)), NoiseKind.LOW_PRECISION)
    real = "def fn(x):\n    return x.exp()\ndef get_inputs():\n    return [torch.tensor([5.0, 12.0, 15.0]).half()]\n"
    assert_real(check(judge, program(real, "plant(aten.exp.default, lambda x: x.exp().clamp(max=65504))")))
