"""Verdicts on what surrounds a call: hooks, subclasses, shared arguments, second-order gradients. Each as it is, and with a planted difference."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from store.records import Outcome, Stage, Symptom, Verdict
from workbench.oracle.judge import Demand, Judge
from workbench.programs import parse_program
from workbench.servers import Pool

pytestmark = pytest.mark.torch

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
COMPILING = "torch.compiler.is_compiling()"


@dataclass(frozen=True)
class Construct:
    """``source`` says WRONG where the planted difference goes: ``False`` as it is, else true only where it is compiled."""

    name: str
    source: str
    symptom: Symptom
    block: str = ""


CONSTRUCTS = (
    Construct(
        "a hook before the first call and one after it",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.second(self.first(x).relu())


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3)]


def drive(fn, inputs):
    seen = []
    one = fn.first.register_forward_hook(lambda module, args, out: out + (2 if WRONG else 1))
    results = [fn(*inputs)]
    fn.second.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    fn.register_forward_hook(lambda module, args, out: seen.append(tuple(out.shape)))
    results.append(fn(*inputs))
    one.remove()
    return results, fn(*inputs), seen
""",
        Symptom.VALUE,
        "[dynamo]\nskip_nnmodule_hook_guards = false\n",
    ),
    Construct(
        "backward hooks of a tensor and of a module",
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.register_full_backward_hook(lambda module, inward, outward: (inward[0] * 3,))

    def forward(self, x):
        y = self.layer(x)
        y.register_hook(lambda g: g * 5)
        return y * (1.0 if not WRONG else y.detach() * 0 + 1.5)


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3)]
""",
        Symptom.GRADIENT,
        'grad = true\nbackend = "aot_eager"\n',
    ),
    Construct(
        "a plain subclass",
        """
class Tagged(torch.Tensor):
    pass


def fn(x):
    return (x * (3 if WRONG else 2)).sum(0), x.sin()


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3).as_subclass(Tagged)]
""",
        Symptom.VALUE,
    ),
    Construct(
        "a wrapper with __torch_dispatch__",
        """
class Doubled(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(tensors, context, size, stride):
        return Doubled(tensors["inner"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = torch.utils._pytree.tree_map_only(Doubled, lambda t: t.inner, (args, kwargs or {}))
        return torch.utils._pytree.tree_map_only(torch.Tensor, Doubled, func(*plain[0], **plain[1]))


def fn(x):
    return (x * (3 if WRONG else 2)).inner + 1


def get_inputs():
    return [Doubled(torch.arange(6.0))]
""",
        Symptom.VALUE,
    ),
    Construct(
        "arguments that share memory, with offset and strides",
        """
def fn(x, y, z):
    x.add_(1)
    if WRONG:
        return (y * 0 + torch.arange(3.0)).sum(), z.stride(), z.storage_offset()
    return y.sum(), z.stride(), z.storage_offset()


def get_inputs():
    base = torch.arange(24.0)
    return [base[2:8], base[5:8], base.view(4, 6).t()[1:, ::2]]
""",
        Symptom.VALUE,
    ),
    Construct(
        "one tensor as two arguments",
        """
def fn(x, y):
    x.mul_(2)
    return y + (1 if WRONG else 0), x is y


def get_inputs():
    x = torch.arange(4.0)
    return [x, x]
""",
        Symptom.VALUE,
    ),
    Construct(
        "a second-order gradient inside the compiled call",
        """
def fn(x):
    cube = lambda v: (v**3).sum() + ((v**2).sum() if WRONG else 0)
    return torch.func.grad(lambda v: torch.func.grad(cube)(v).sum())(x)


def get_inputs():
    return [torch.arange(1.0, 5.0)]
""",
        Symptom.VALUE,
    ),
    Construct(
        "a second-order gradient across the compiled call",
        """
def fn(x):
    return (x**3).sum() + ((x.detach() * x * x).sum() if WRONG else 0)


def get_inputs():
    return [torch.arange(1.0, 5.0, requires_grad=True)]


def drive(fn, inputs):
    (x,) = inputs
    (first,) = torch.autograd.grad(fn(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first, second
""",
        Symptom.VALUE,
        'backend = "eager"\n',
    ),
    Construct(
        "a custom function with its own backward",
        """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


def fn(x):
    return Cube.apply(x) * (1 if not WRONG else x.detach() * 0 + 2) / (2 if WRONG else 1) + (x - x.detach()) * (1 if WRONG else 0)


def get_inputs():
    return [torch.arange(1.0, 5.0)]
""",
        Symptom.GRADIENT,
        "grad = true\n",
    ),
)


def judged(pool: Pool, construct: Construct, *, wrong: bool) -> Verdict:
    body = construct.source.replace("WRONG", COMPILING if wrong else "False")
    block = f"# /// workbench\n# {construct.block.strip().replace(chr(10), chr(10) + '# ')}\n# ///\n" if construct.block else ""
    return Judge(pool).check(parse_program(block + HEAD + body, "program.py"), demand=Demand(stage=False, confirm=False))


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda c: c.name.replace(" ", "_"))
def test_a_construct_agrees_as_it_is_and_a_planted_difference_shows(pool: Pool, construct: Construct):
    plain = judged(pool, construct, wrong=False)
    assert plain.outcome is Outcome.AGREE, (plain.reason, plain.differences[:1])
    planted = judged(pool, construct, wrong=True)
    assert planted.outcome is Outcome.MISMATCH, planted.reason
    assert construct.symptom in planted.symptoms


def test_a_hook_after_the_first_call_that_no_guard_sees_is_a_mismatch(pool: Pool):
    """``skip_nnmodule_hook_guards`` is on by default: then compiled code keeps running without the new hook."""
    hooks = CONSTRUCTS[0]
    verdict = judged(pool, Construct(hooks.name, hooks.source, hooks.symptom), wrong=False)
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.differences[0].path == "return[0][1]"


def test_a_second_derivative_that_aot_refuses_is_loud_at_aot(pool: Pool):
    source = next(c for c in CONSTRUCTS if "across" in c.name).source.replace("WRONG", "False")
    verdict = Judge(pool).check(parse_program(HEAD + source, "program.py"))
    assert verdict.outcome is Outcome.ERROR
    assert verdict.stage is Stage.AOT
    assert "double backward" in verdict.reason


CATCHES = """
def fn(x):
    BODY
    return x + 1


def drive(fn, inputs):
    seen = []
    for _ in range(2):
        try:
            seen.append(fn(*inputs))
        except Exception as error:
            seen.append(type(error).__name__)
    return seen


def get_inputs():
    return [torch.ones(3)]
"""
MODULE = """
class Model(nn.Module):
    def forward(self, x):
        BODY
        return x + 1


def drive(fn, inputs):
    assert isinstance(fn, nn.Module)
    try:
        return fn(*inputs)
    except Exception as error:
        return type(error).__name__


def get_inputs():
    return [torch.ones(3)]
"""
EAGER_RAISES = CATCHES.replace("except Exception", "except RuntimeError").replace("BODY", "raise ValueError('eager')")


@pytest.mark.parametrize(
    ("source", "block", "outcome"),
    [
        (CATCHES.replace("BODY", "torch._dynamo.graph_break()"), "fullgraph = true", Outcome.ERROR),
        (MODULE.replace("BODY", "torch._dynamo.graph_break()"), "fullgraph = true", Outcome.ERROR),
        (EAGER_RAISES, "fullgraph = true", Outcome.ERROR),
        (CATCHES.replace("BODY", "torch._dynamo.graph_break()"), "", Outcome.AGREE),
        (MODULE.replace("BODY", "pass"), "fullgraph = true", Outcome.AGREE),
        (CATCHES.replace("BODY", "raise ValueError('eager too')"), "", Outcome.AGREE),
        (CATCHES.replace("BODY", "x = x + torch.compiler.is_compiling()"), "fullgraph = true", Outcome.MISMATCH),
    ],
    ids=["refused", "module", "eager_raises", "a_break", "a_module_alike", "raised_alike", "a_wrong_value"],
)
def test_what_the_compiler_refuses_is_loud_also_where_the_program_catches_it(pool: Pool, source: str, block: str, outcome: Outcome):
    verdict = judged(pool, Construct("catches", source, Symptom.PYVALUE, block), wrong=False)
    assert verdict.outcome is outcome, verdict.reason
    if outcome is Outcome.ERROR:
        assert verdict.symptoms == (Symptom.EXCEPTION,)
        assert "Unsupported" in verdict.reason


LATER = """
import torch
LEVEL = [0]


def fn(x):
    if LEVEL[0]:
        torch._dynamo.graph_break()
    return torch.addmm(torch.zeros(4), x * float("nan"), torch.ones(4, 4), alpha=0.0)


def drive(fn, inputs):
    seen = [fn(*inputs)]
    LEVEL[0] = 1
    try:
        seen.append(fn(*inputs).sum())
    except Exception:
        seen.append(None)
    return seen


def get_inputs():
    return [torch.ones(1, 4)]
"""


def test_a_wrong_value_beside_a_refusal_stays_a_mismatch(pool: Pool):
    """What the refusal explains differs where tracing alone refuses; the NaN is lost further down."""
    verdict = judged(pool, Construct("later", LATER.replace("import torch\n", ""), Symptom.VALUE, "fullgraph = true"), wrong=False)
    assert verdict.outcome is Outcome.MISMATCH, verdict.reason
    assert any(d.path.startswith("return[0]") for d in verdict.differences)
