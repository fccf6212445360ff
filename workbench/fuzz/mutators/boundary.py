"""Special values and sizes: NaN, infinities, -0.0, subnormals, nothing at all, one element, sizes at the tail of a vector."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

SPECIAL = ("float('nan')", "float('inf')", "-float('inf')", "-0.0", "1e-40", "-1e-40", "3.0e38", "0.5", "1.5", "-2.5", "1e30")

ON_SPECIAL = (
    "{s}.max()", "{s}.min()", "{s}.argmax()", "{s}.argmin()", "{s}.sort().values", "{s}.sort(descending=True).values", "{s}.clamp(-1, 1)", "{s}.clamp(min=0)", "{s}.clamp(float('nan'), 1)", "torch.maximum({s}, {s}.flip(0))",
    "torch.minimum({s}, torch.zeros(()))", "torch.fmax({s}, {s}.flip(0))", "torch.fmin({s}, torch.ones(()))", "{s}.sign()", "{s}.sgn()", "{s}.relu()", "torch.nan_to_num({s})", "torch.nan_to_num({s}, 1.0, 2.0, -2.0)", "{s}.round()", "{s}.floor()",
    "{s}.ceil()", "{s}.trunc()", "{s}.frac()", "{s} == {s}", "{s} != {s}.flip(0)", "{s} > 0", "{s} <= {s}.flip(0)", "{s}.isnan()", "{s}.isinf()", "{s}.isfinite()", "{s}.signbit()", "torch.copysign({s}, -{s})", "{s}.abs()", "{s} * 0", "0 * {s}", "{s} ** 0",
    "{s} ** 2", "{s} // 1", "{s} % 2", "torch.fmod({s}, 2)", "torch.remainder({s}, -2)", "{s}.cummax(0).values", "{s}.cummin(0).values", "{s}.amax()", "torch.aminmax({s})", "{s}.topk(3).values", "{s}.median()", "{s}.nanmedian()", "{s}.nansum()",
    "torch.where({s} > 0, {s}, -{s})", "torch.isclose({s}, {s}.flip(0), equal_nan=True)", "torch.heaviside({s}, torch.ones(()))", "{s}.bool()", "{s}.any()", "{s}.all()", "{s}.logical_not()", "{s}.unique()", "torch.hypot({s}, torch.zeros(()))", "{s}.exp()",
    "torch.logaddexp({s}, {s}.flip(0))", "{s}.softmax(0)", "{s}.log_softmax(0)", "torch.logsumexp({s}, 0)", "{s}.sqrt()", "{s}.rsqrt()", "{s}.reciprocal()", "1 / {s}", "{s}.log1p()", "{s}.atan()", "torch.atan2({s}, {s}.flip(0))", "{s}.tanh()",
    "torch.nextafter({s}, torch.ones(()))", "torch.ldexp({s}, torch.tensor(2))", "torch.frexp({s}).mantissa", "{s}.cumsum(0)", "{s}.cumprod(0)", "{s}.prod()", "{s}.to(torch.float64)", "{s}.to(torch.bfloat16)", "torch.nn.functional.gelu({s})",
    "torch.nn.functional.hardtanh({s})", "torch.nn.functional.hardswish({s})", "torch.nn.functional.softplus({s})", "torch.nn.functional.leaky_relu({s}, -0.5)", "torch.nn.functional.elu({s})", "torch.nn.functional.threshold({s}, 0.0, 7.0)",
    "torch.nn.functional.hardshrink({s})", "torch.nn.functional.softshrink({s})", "torch.nn.functional.relu6({s})", "torch.nn.functional.logsigmoid({s})", "torch.nn.functional.silu({s})", "torch.special.xlogy({s}, {s})", "torch.xlogy({s} * 0, {s})",
    "torch.special.entr({s})", "{s}.erf()", "{s}.sigmoid()", "torch.logit({s}, 0.1)", "torch.bucketize({s}, torch.tensor([0.0, 1.0]))", "torch.searchsorted(torch.tensor([0.0, 1.0]), {s}, right=True)", "{s}.view(4, -1).argmax(1)", "{s}.norm(0)", "{s}.norm(float('inf'))",
    "torch.histc({s}.nan_to_num(0, 1, 1), 4, -2, 2)", "{s}.std()", "{s}.kthvalue(2).values", "{s}.mode().values", "{s}.logcumsumexp(0)", "torch.renorm({s}.view(4, -1), 2, 0, 1.0)", "{s}.masked_fill({s}.isnan(), 0).sum()", "torch.div({s}, 0.0)",
    "torch.div({s}, 2, rounding_mode='floor')", "torch.div({s}, -2, rounding_mode='trunc')", "torch.floor_divide({s}, 0.5)", "{s}.count_nonzero()", "{s}.neg().amax()", "torch.float_power({s}, 0.5)", "{s}.pow(0.5)", "{s}.pow(-1)", "{s}.expm1()", "{s}.sinc()", "{s}.square().sum().sqrt()",
)  # fmt: skip


def _room(v: Value) -> bool:
    return v.floating and v.rank >= 1


@mutator("special_values", "special-values")
def special_values(subject: Subject, draw: Draw) -> str | None:
    """NaN, infinities, -0.0 and subnormals through ops whose result depends on how they are ordered or compared."""
    found = subject.pick(draw, _room)
    if found is None:
        return None
    site, v = found
    s = subject.fresh("s")
    length = draw.choice([8, 16, 20, 4])
    values = ", ".join(draw.choice(SPECIAL) for _ in range(length))
    subject.insert(site, f"{s} = torch.tensor([{values}]) + {v.name}.detach().flatten()[:1].float() * 0")
    subject.observe(*(t.format(s=s) for t in draw.sample(ON_SPECIAL, draw.whole(4, 7))))
    return f"{length}"


@mutator("special_in_place", "special-values")
def special_in_place(subject: Subject, draw: Draw) -> str | None:
    """A special value written into one place of a tensor of the program itself; the rest of the program goes on with it."""
    found = subject.pick(draw, lambda v: _room(v) and v.numel >= 2, written=True)
    if found is None:
        return None
    site, v = found
    value = draw.choice(SPECIAL[:6])
    place = ", ".join(str(draw.whole(0, n - 1)) for n in v.shape)
    subject.insert(site, f"{v.name}[{place}] = {value}")
    subject.observe(v.name, f"{v.name}.amax()", f"{v.name}.argmax()", f"({v.name} > 0).sum()")
    return value


ON_EMPTY = (
    "{e}.sum()", "{e}.sum(0)", "{e}.prod()", "{e}.any()", "{e}.all()", "{e}.mean()", "{e}.clone()", "torch.cat([{e}, {v}])", "torch.cat([{v}, {e}])", "torch.cat([{e}, {e}])", "torch.stack([{e}, {e}])", "{e} + 1", "{e}.cumsum(0)", "{e}.sort(0).values",
    "{e}.reshape(0)", "{e}.norm()", "{e}.nonzero()", "{e}.unique()", "{e}.flip(0)", "{e}.roll(1, 0)", "{e}.expand(2, *{e}.shape)", "{e}.to(torch.int64)", "{e}.repeat(2, *([1] * ({e}.dim() - 1)))", "torch.zeros_like({e})", "{e}.var()", "{e}.std(unbiased=False)",
    "{e}.index_select(0, torch.zeros(0, dtype=torch.long))", "{v}.index_select(0, torch.zeros(0, dtype=torch.long))", "{v}[torch.zeros(0, dtype=torch.long)]", "torch.where({e} > 0, {e}, {e})", "{e}.softmax(0)", "{e}.logsumexp(0)", "torch.nn.functional.pad({e}, (0, 1))",
    "{e}.unsqueeze(0).amax(0)", "{e}.numel()", "list({e}.shape)", "{v}.split([0, {v}.shape[0]])[0]", "{e}.transpose(0, -1)", "torch.bincount({e}.flatten().to(torch.int64))", "{e}.diff(dim=0)", "{e}.median() if False else {e}", "{v}.narrow(0, 0, 0).sum()",
    "torch.nn.functional.relu({e})", "{e}.masked_select({e} > 0)", "torch.einsum('i,i->', {e}.flatten(), {e}.flatten())", "{e}.flatten() @ {e}.flatten()", "{e}.view(-1, 0).sum(1) if {e}.dim() == 1 else {e}", "torch.hstack([{e}, {v}])", "{e}.count_nonzero()", "{e}.bool().all(0)",
    "{e}.prod(0)", "torch.linspace(0, 1, 0)", "torch.arange(0)", "torch.full((0, 3), 2).sum(0)", "torch.ones(3, 0) @ torch.ones(0, 2)", "torch.bmm(torch.ones(2, 3, 0), torch.ones(2, 0, 4))", "torch.addmm(torch.ones(3, 2), torch.ones(3, 0), torch.ones(0, 2))", "torch.zeros(0, 3).mean(0)", "torch.zeros(2, 0).amax(0)",
    "torch.nn.functional.linear(torch.ones(2, 0), torch.ones(3, 0), torch.ones(3))", "torch.zeros(3, 0).argsort(1)", "torch.ones(0, 4).std(0)", "torch.nn.functional.one_hot(torch.zeros(0, dtype=torch.long), 3)", "torch.nn.functional.embedding(torch.zeros(0, dtype=torch.long), torch.ones(3, 2))",
    "torch.ones(2, 0).logsumexp(1)", "torch.ones(2, 0).cumsum(1)", "torch.ones(2, 0).sum(1, keepdim=True)", "torch.ones(2, 0).prod(1)", "torch.ones(2, 0).norm(dim=1)", "torch.ones(2, 0).all(1)", "torch.ones(2, 0).any(1)",
)  # fmt: skip


@mutator("empty_tensors", "empty-tensors")
def empty_tensors(subject: Subject, draw: Draw) -> str | None:
    """A part of size zero in reductions, joins and products."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    e = subject.fresh("nothing")
    subject.insert(site, f"{e} = {draw.choice([f'{v.name}[:0]', f'{v.name}[{v.shape[0]}:]', f'{v.name}.narrow(0, 0, 0)', f'{v.name}.new_empty((0, *{v.name}.shape[1:]))'])}")
    pool = [t for t in ON_EMPTY if v.floating or not any(w in t for w in ("mean", "var", "std", "norm", "softmax", "logsumexp"))]
    subject.observe(*(t.format(e=e, v=v.name) for t in draw.sample(pool, draw.whole(4, 7))))
    return "empty"


ON_SCALAR = (
    "{z}.cumsum(0)", "{z}.sort().values", "{z}.unsqueeze(0).cumprod(0)", "{z}.expand(3)", "{z}.repeat(2)", "{z}.argmax()", "{z}.max(0).values", "{z}.min(0).indices", "{z}.sum(0)", "{z}.prod()", "{z}.reshape(1, 1)", "{z}.topk(1).values", "{z}.flip(())" , "{z}.all()",
    "torch.stack([{z}, {z}])", "{z}.view(1)[0]", "{z}.index_select(0, torch.tensor([0]))", "{z}.gather(0, torch.tensor(0))", "{z}.scatter(0, torch.tensor(0), 5)", "{z}.squeeze()", "{z} * torch.ones(2, dtype=torch.float16)", "{z}.softmax(0) if {z}.is_floating_point() else {z}",
    "{z}.cummax(0).values", "{z}.logcumsumexp(0) if {z}.is_floating_point() else {z}", "{z}.median()", "{z}.mode().values", "{z}.kthvalue(1).values", "{z}.any(0)", "{z}.amin(0)", "{z}.unbind if False else {z}", "{z}.item()", "float({z}) * 2", "int({z}) + 1", "{z}.tolist()", "bool({z} > 0)",
    "{z}.index_fill(0, torch.tensor([0]), 2)", "{z}.index_add(0, torch.tensor([0]), {z}.unsqueeze(0))" , "{z}.take(torch.tensor([0, 0]))", "torch.cat([{z}.view(1), {z}.view(1)])", "{z}.clamp(max={z})", "torch.where({z} > 0, {z}, {z} * 2)", "{z}.ravel()", "{z}.nonzero()", "{z}.unique()",
    "{z}.tril if False else {z}", "{z}.var(unbiased=False) if {z}.is_floating_point() else {z}", "{z}.norm() if {z}.is_floating_point() else {z}", "torch.atleast_2d({z})", "torch.hstack([{z}, {z}])", "torch.broadcast_to({z}, (2, 2))", "{z}.t()", "{z}.roll(0)" , "{z}.mean(0) if {z}.is_floating_point() else {z}",
)  # fmt: skip


@mutator("zero_dim", "zero-dim-tensors")
def zero_dim(subject: Subject, draw: Draw) -> str | None:
    """A tensor without axes where ops expect at least one."""
    found = subject.pick(draw, lambda v: v.numeric)
    if found is None:
        return None
    site, v = found
    z = subject.fresh("z")
    make = draw.choice([f"{v.name}.sum()", f"{v.name}.flatten()[0]", f"{v.name}.max()"])
    subject.insert(site, f"{z} = {make}.detach()")
    subject.observe(*(t.format(z=z) for t in draw.sample(ON_SCALAR, draw.whole(4, 7))))
    return "zero_dim"


TAILS = (15, 16, 17, 31, 32, 33, 63, 64, 65, 7, 1, 129)
ON_TAIL = (
    "{t}.sum()", "{t}.amax()", "{t}.argmax()", "{t}.argmin()", "{t}.cumsum(0)", "{t}.prod() * 0 + {t}.max()", "{t}.flip(0)", "{t}.roll(1)", "{t}.sort(descending=True).indices", "{t}.var(unbiased=False) > 0", "({t} > 3).sum()", "({t} > 3).any()", "{t}[1:] - {t}[:-1]", "{t}.unfold(0, 3, 2).sum(1)",
    "{t}.to(torch.int8)", "{t}.to(torch.uint8)", "{t}.to(torch.float16)", "{t}.to(torch.bool)", "{t}.to(torch.int64) * 3", "torch.where({t} > 2, {t}, {t}.flip(0))", "{t}[::3] + 1", "torch.stack([{t}, {t}], 1).reshape(-1)", "torch.stack([{t}, {t} + 1]).argmax(0)", "{t}.view(1, -1).expand(3, -1).amax(1)",
    "torch.cat([{t}, {t}[:3]])", "torch.nn.functional.pad({t}, (2, 3), value=9)", "{t}.view(-1, 1) + {t}[:5]", "({t}.view(-1, 1) * {t}[:4]).sum(0)", "({t}.view(-1, 1) - {t}[:7]).amax(1)", "{t}.cummax(0).indices", "{t}.masked_fill({t} > 5, 0).sum()", "{t}.view(-1, 1).repeat(1, 3).transpose(0, 1).argmax(1)",
    "{t}.double().sum()", "{t}.bfloat16().amax()", "{t}.int() // 3", "{t}.int() % 5", "({t}.int() << 2).sum()", "torch.maximum({t}, {t}.roll(3)).argmin()", "{t}.logical_not().sum()", "{t}.sign().sum()", "{t}.square().amin()", "torch.bucketize({t}, torch.tensor([1.0, 4.0]))", "{t}.index_select(0, torch.arange({n} - 1, -1, -1))",
    "{t}.nonzero().sum()", "torch.zeros({n}).scatter_add(0, torch.arange({n}) % 5, {t})", "{t}.view(-1, 1).any(0)", "({t} == {t}.max()).nonzero()", "{t}.int().bitwise_and(3).sum()", "{t}.topk(1).indices", "torch.aminmax({t})", "{t}.round().int().sum()", "({t} / 2).floor().sum()", "torch.outer({t}, {t}[:3]).argmax(0)",
)  # fmt: skip


@mutator("vector_tails", "vector-tails")
def vector_tails(subject: Subject, draw: Draw) -> str | None:
    """Sizes around the width of a vector register, whole-numbered data, reductions and casts."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    t, n = subject.fresh("t"), draw.choice(TAILS)
    repeats = -(-n // v.numel)
    source = f"{v.name}.detach().flatten().repeat({repeats})[:{n}].float()"
    subject.insert(site, f"{t} = {source} + torch.arange({n}) % {draw.choice([7, 13, 5])}" if v.integral else f"{t} = (torch.arange({n}) * 7 % 23).float() + {v.name}.detach().flatten()[:1].float() * 0")
    subject.observe(*(text.format(t=t, n=n) for text in draw.sample(ON_TAIL, draw.whole(4, 7))))
    return f"{n}"


@mutator("input_sizes", "vector-tails")
def input_sizes(subject: Subject, draw: Draw) -> str | None:
    """An input cut to one row, repeated to an odd length, or with an axis of size one."""
    values = [v for v in subject.values if v.position is not None and v.rank >= 1 and v.kind == "Tensor"]
    if not values or subject.entry is None:
        return None
    v = draw.choice(values)
    offset = 1 if subject.entry.args.args and subject.entry.args.args[0].arg == "self" else 0
    word, text = draw.choice(
        [("one_row", "{v}[:1]"), ("no_row", "{v}[:0]"), ("repeat", "torch.cat([{v}] * 5)"), ("one_column", "{v}[..., :1]"), ("tail", "torch.cat([{v}] * 9)[:33]")]
    )
    return word if subject.wrap_input((v.position or 0) - offset, text) else None


@mutator("literal_operands", "literal-operands")
def literal_operands(subject: Subject, draw: Draw) -> str | None:
    """0 and 1 as operands, on data that may hold NaN: x * 0 is not 0, x ** 0 is 1."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    b = subject.fresh("b")
    edge = f"torch.cat([{v.name}.detach().flatten()[:6].float(), torch.tensor([float('nan'), float('inf'), -0.0])])"
    subject.insert(site, f"{b} = {edge if draw.chance(0.6) else f'{v.name}.detach().flatten()[:9]'}")
    pool = (
        "{b} * 0", "0 * {b}", "{b} * 0.0", "{b} * 1", "{b} / 1", "{b} ** 0", "{b} ** 1", "{b} - {b}", "{b} / {b}", "{b} + 0", "0 - {b}", "{b} - 0", "{b} * -1", "{b} + -0.0", "torch.mul({b}, 0).sum()", "torch.add({b}, {b}, alpha=0)", "torch.sub({b}, {b}, alpha=1)",
        "torch.zeros_like({b}) * {b}", "torch.ones_like({b}) * {b}", "torch.zeros_like({b}) + {b}", "torch.full_like({b}, 0) - {b}", "torch.ones_like({b}).cumsum(0)", "torch.zeros(9).cumsum(0) + {b}", "torch.ones(9).sum() * {b}", "{b} * torch.tensor(0)", "{b} * torch.tensor(1.0)",
        "{b} / torch.ones(())", "torch.where(torch.ones_like({b}) > 0, {b}, {b} * 0)", "torch.where(torch.zeros_like({b}) > 0, {b}, 3.0)", "{b} == {b}", "({b} * 0) == 0", "torch.addcmul({b}, {b}, {b}, value=0)", "torch.addcdiv({b}, {b}, torch.ones_like({b}), value=0)", "torch.lerp({b}, {b} + 1, 0)",
        "torch.lerp({b}, {b} * 2, 1)", "1 * {b} * 1", "({b} + 1) - 1", "-(-{b})", "{b}.neg().neg()", "{b} // 1", "{b} % 1", "torch.pow({b}, torch.zeros(()))", "torch.pow(1, {b})", "torch.pow({b}, 2) * 0", "{b}.mul(0).add(1)", "{b}.clamp(0, 0)", "torch.div({b}, 1, rounding_mode='floor')", "torch.full((9,), 2) * torch.full((9,), 3) + {b}",
        "torch.arange(9) * 0 + {b}", "torch.ones(9, dtype=torch.int64) * {b}", "(torch.ones(9) * 2).cumsum(0)", "torch.ones(3, 3).cumsum(1)", "torch.full((9,), True).cumsum(0)", "torch.full((3, 3), 2, dtype=torch.uint8).cumsum(0)", "torch.ones(9, dtype=torch.bool).cumsum(0, dtype=torch.int32)", "torch.full((4,), 0.1).cumsum(0)",
    )  # fmt: skip
    subject.observe(*(t.format(b=b) for t in draw.sample([t for t in pool if v.shape and (v.numel >= 9 or "9" not in t)], draw.whole(4, 7))))
    return "literals"
