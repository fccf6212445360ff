"""The shadow leaves the primal alone, and its images are what float64 would have given."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from workbench.runner.shadow import Shadow

pytestmark = pytest.mark.torch

Program = Callable[[], Any]


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensor:
    """Normal numbers made where no mode sees it."""
    with _disable_current_modes():
        return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def run(program: Program, mode: Any = None) -> tuple[Any, Tensor]:
    torch.manual_seed(0)
    if mode is None:
        return program(), torch.get_rng_state()
    with mode:
        return program(), torch.get_rng_state()


def shadowed(program: Program) -> tuple[Any, Shadow]:
    shadow = Shadow()
    return run(program, shadow)[0], shadow


def bits(result: Any) -> list[Any]:
    def of(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return repr(leaf)
        whole = leaf.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        return leaf.dtype, leaf.shape, leaf.stride(), whole.reshape(-1).view(torch.uint8).tolist()

    return [of(leaf) for leaf in tree_leaves(result)]


def distance(shadow: Shadow, tensor: Tensor, truth: Tensor) -> float:
    image = shadow.image(tensor)
    assert image is not None
    assert image.shape == truth.shape
    return float((image - truth).abs().max())


# Programs ------------------------------------------------------------------------------------------------------------------


def views() -> Any:
    x = normal(3, 4).exp()
    x.t()[1:].mul_(1 / 3)
    x.diagonal().add_(0.1)
    x[0].view(2, 2)[1] = x[2, :2]
    flipped = x.flip(0)
    x.as_strided((2, 2), (5, 1), 1).sub_(0.3)
    return x, flipped, x.unfold(1, 2, 1).sum(-1)


def conj_and_neg() -> Any:
    z = normal(4, 2).exp().view(4, 2)
    z = torch.view_as_complex(z).exp().conj()
    z.imag.mul_(1 / 3)
    z.mul_(2.3 + 1j)
    torch.view_as_real(z.resolve_conj())[..., 0].add_(0.1)
    return z, z.imag + 1, z * 2, z.abs()


def outs() -> Any:
    x, out, rows = normal(3, 3).exp(), torch.empty(0), torch.zeros(2, 3)
    torch.sin(x, out=out)
    torch.exp(x[0], out=rows[1])
    torch.mul(x, out, out=x)
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.sort(x, out=(values, indices))
    return out, rows, x, values, indices


def lists() -> Any:
    first = [normal(3), normal(4).double(), normal(2)]
    second = torch._foreach_exp(first)
    torch._foreach_add_(second, first, alpha=0.3)
    torch._foreach_mul_(second, 0.1)
    torch._foreach_copy_(first, second)
    return first, second


def training() -> Any:
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3, bias=False), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 3)
    )
    optimiser = torch.optim.AdamW(net.parameters(), lr=0.1)
    for step in range(2):
        optimiser.zero_grad()
        F.cross_entropy(net(normal(2, 1, 6, 6, seed=step)), torch.tensor([0, 2])).backward()
        optimiser.step()
    return list(net.parameters()), list(net.buffers())


def sizes() -> Any:
    x = normal(4).exp()
    x.resize_(2, 4)[1] = 1.0
    y = torch.empty(0)
    y.set_(x)
    y.add_(1 / 3)
    p = nn.Parameter(normal(3))
    p.data = y.detach()[0] * 2
    return x, y, p * 3


def bytes_seen_as() -> Any:
    x = normal(4).exp()
    half = x.view(torch.bfloat16) * 2
    x.view(torch.int32).bitwise_and_(-256)
    return x * 2, half


def integers() -> Any:
    i = torch.tensor([1, 2, 3])
    i.add_(1).mul_(2)
    f = i.float().div_(3)
    i.copy_(f * 9)
    return i, f, torch.zeros(3, dtype=torch.long).scatter_(0, torch.tensor([2, 0]), torch.tensor([5, 6]))


def random_numbers() -> Any:
    x = torch.empty(5).uniform_()
    own = torch.Generator().manual_seed(3)
    return (
        x,
        torch.rand(2, generator=own),
        F.dropout(x, 0.5),
        torch.multinomial(x, 2),
        torch.normal(x, x),
        torch.randperm(4),
        torch.bernoulli(x),
    )


def attention() -> Any:
    q, k, v = (normal(1, 2, 8, 4, seed=s).requires_grad_() for s in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    out.sum().backward()
    return out, q.grad, k.grad


def transforms() -> Any:
    grads = torch.func.vmap(torch.func.grad(lambda x: x.sin().cumsum(0).sum()))(normal(3, 4))
    return (
        grads,
        torch.func.jvp(lambda x: x.exp() * x, (normal(3),), (normal(3, seed=1),)),
        torch.func.hessian(lambda x: x.tanh().sum())(normal(3)),
    )


def double_backward() -> Any:
    x = normal(3).requires_grad_()
    (g,) = torch.autograd.grad(x.sin().pow(3).sum(), x, create_graph=True)
    g.sum().backward()
    return x.grad


def mixed_precision() -> Any:
    layer = nn.Linear(4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(normal(2, 4))
        z = F.softmax(y, -1)
    (z.sum() + y.float().pow(2).sum()).backward()
    return y, z, layer.weight.grad


def modes() -> Any:
    torch.set_default_dtype(torch.float64)
    try:
        a = torch.ones(3) / 3
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.inference_mode():
        b = normal(3).sin().add_(1)
    return a, b, torch.get_default_dtype(), torch.is_grad_enabled()


def errors() -> Any:
    try:
        normal(3) @ normal(4)
    except RuntimeError as error:
        return str(error)


def expanded() -> Any:
    z = torch.zeros(1).expand(3)
    z.fill_(1 / 3)
    return z, normal(3, 1).expand(3, 4).sin()


PROGRAMS = [
    views,
    conj_and_neg,
    outs,
    lists,
    training,
    sizes,
    bytes_seen_as,
    integers,
    random_numbers,
    attention,
    transforms,
    double_backward,
    mixed_precision,
    modes,
    errors,
    expanded,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_primal_and_random_stream_are_bitwise_as_without_a_shadow(program: Program) -> None:
    plain, stream = run(program)
    shadow = Shadow()
    beside, stream_beside = run(program, shadow)
    assert bits(beside) == bits(plain)
    assert torch.equal(stream, stream_beside)
    json.dumps([shadow.facts, shadow.warnings, shadow.plan])


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not mixed_precision], ids=lambda p: p.__name__)
def test_images_are_near_the_primal_and_nothing_had_to_start_again(program: Program) -> None:
    result, shadow = shadowed(program)
    for leaf in tree_leaves(result):
        image = shadow.image(leaf) if isinstance(leaf, Tensor) else None
        if image is not None and leaf.dtype.itemsize > 2:
            torch.testing.assert_close(leaf.detach().resolve_conj().resolve_neg().to(image.dtype), image, rtol=2e-5, atol=2e-5)
    allowed = {"nodes", "dtype_view", "resized"}
    assert not [name for name in shadow.facts["counts"] if name not in allowed and not name.startswith("passed prims.")]


def test_image_is_the_float64_run_where_one_can_be_had() -> None:
    def chain(x: Tensor) -> Tensor:
        h = (x @ x.t()).softmax(-1)
        h[0] += x[:, 0].exp()
        return F.layer_norm(h.cumsum(1), [6]).sigmoid().var(0)

    x = normal(6, 6)
    result, shadow = shadowed(lambda: chain(x))
    truth = chain(x.double())
    assert float((result - truth).abs().max()) > 1e-9
    assert distance(shadow, result, truth) < 1e-14


def test_singular_values_and_eigenvalues_have_their_float64_image() -> None:
    x = normal(6, 6) * 0.1
    for values in (torch.linalg.svdvals, torch.linalg.eigvalsh, lambda a: torch.linalg.svd(a).S):
        result, shadow = shadowed(lambda v=values: v(x.exp()))  # type: ignore[misc]
        truth = values(x.double().exp())
        assert distance(shadow, result, truth) < 1e-12 < float((result - truth).abs().max())


def test_half_chains_are_followed_without_rounding() -> None:
    x = normal(64, dtype=torch.bfloat16)
    result, shadow = shadowed(lambda: ((x * 1.1 + 0.3) * 0.7).sin().sum())
    assert distance(shadow, result, ((x.double() * 1.1 + 0.3) * 0.7).sin().sum()) < 1e-12
    assert shadow.facts["half"]


def test_values_follow_the_indices_of_the_primal_at_near_ties() -> None:
    base = torch.tensor([1.0, 1.0 + 2**-30, 0.5], dtype=torch.float64)  # a tie in float32

    def program() -> Any:
        x = base.exp().float()
        return x, torch.sort(x, stable=True), torch.max(x, 0), torch.topk(x, 2)

    (x, *found), shadow = shadowed(program)
    image = shadow.image(x)
    assert image is not None
    assert x[0] == x[1]
    assert image[0] < image[1]
    for values, indices in found:
        chosen = shadow.image(values)
        assert chosen is not None
        assert torch.equal(chosen, image[indices])


def test_keys_of_an_argmax_are_what_it_saw_and_of_nothing_else() -> None:
    x = normal(3, 4)

    def program() -> Any:
        y = x.exp()
        index = y.argmax(1)
        y.zero_()
        return index, index + 1, y.argmin()

    (index, shifted, flat), shadow = shadowed(program)
    keys = shadow.keys(index)
    assert keys is not None
    assert keys[1] == 1
    assert torch.equal(keys[0], x.exp())
    assert shadow.keys(shifted) is None
    whole = shadow.keys(flat)
    assert whole is not None
    assert whole[1] is None


def test_a_write_through_numpy_starts_the_image_again() -> None:
    def program() -> Tensor:
        y = normal(5).exp()
        y.numpy()[::-1].sort()
        return y * 1.0

    result, shadow = shadowed(program)
    assert distance(shadow, result, result.double()) == 0
    assert shadow.facts["counts"]["unseen_write"] == 1


def test_a_reused_address_inherits_no_image() -> None:
    def program() -> list[Tensor]:
        for i in range(3000):
            torch.full((7,), float(i)).exp_()
        return [torch.full((7,), float(i)) for i in range(20)]

    result, shadow = shadowed(program)
    assert [distance(shadow, t, t.double()) for t in result] == [0.0] * 20
    assert all(shadow.exact(t) for t in result)


def test_a_custom_operator_runs_once() -> None:
    calls = []

    @torch.library.custom_op("workbench_test::noisy", mutates_args=())
    def noisy(x: Tensor) -> Tensor:
        calls.append(1)
        return x.sin() + torch.rand(3)

    plain, _ = run(lambda: noisy(normal(3)) * 2)
    result, shadow = shadowed(lambda: noisy(normal(3)) * 2)
    assert len(calls) == 2
    assert bits(result) == bits(plain)
    assert shadow.facts["counts"]["opaque workbench_test.noisy.default"] == 1
    assert not shadow.facts["exact"]


def test_a_replay_that_raises_starts_the_image_again_and_is_counted() -> None:
    lstm = nn.LSTM(3, 4)  # its kernel knows no float64
    before = torch.get_default_dtype()
    (result, _), shadow = shadowed(lambda: lstm(normal(5, 2, 3)))
    assert torch.get_default_dtype() == before
    assert any(name.startswith("raised aten.mkldnn_rnn_layer") for name in shadow.facts["counts"])
    assert distance(shadow, result, result.detach().double()) == 0
    assert not shadow.exact(result)


def test_calls_of_the_shadow_are_hidden_from_a_function_mode() -> None:
    from torch.overrides import TorchFunctionMode

    def program() -> list[str]:
        log: list[str] = []

        class Log(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                log.append(getattr(func, "__name__", str(func)))
                return func(*args, **(kwargs or {}))

        x = normal(3).requires_grad_()
        with Log():
            x.sin().sum().backward()
        return log

    assert shadowed(program)[0] == run(program)[0]


# Facts ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "drew"),
    [
        (attention, False),
        (random_numbers, True),
        (views, False),
        (lambda: F.dropout(normal(3), 0.5), True),
        (lambda: F.dropout(normal(3), 0.5, training=False), False),
    ],
)
def test_random_says_whether_numbers_were_drawn(program: Program, drew: bool) -> None:
    assert shadowed(program)[1].facts["random"] is drew


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p is not bytes_seen_as], ids=lambda p: p.__name__)
def test_ordinary_programs_warn_of_nothing(program: Program) -> None:
    assert shadowed(program)[1].warnings == {}
