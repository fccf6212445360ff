"""Mixed and small dtypes: promotion, wrap-around, casts, values at the borders of a type."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

BORDERS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}

SMALL = (
    "-{u}", "torch.neg({u})", "abs({u})", "{u}.sum()", "{u}.sum(0)", "{u}.prod()", "{u}.any()", "{u}.all()", "{u}.any(0)", "{u}.all(0)", "torch.any({u}) * 2", "{u}.cumsum(0)", "{u}.cumprod(0)",
    "{u} + 200", "{u} - 250", "10 - {u}", "{u} * {u}", "{u} * 3", "{u} // 3", "{u} % 7", "{u} / 2", "{u} ** 2", "~{u}", "{u} << 1", "{u} >> 1", "{u} & 15", "{u} ^ 255 - 128", "{u}.max()", "{u}.min()",
    "{u}.amax(0)", "{u}.argmax()", "{u}.argmin(0)", "{u}.sort(0).values", "{u}.float().mean()", "{u} > 100", "{u} == -1", "{u} < 300", "torch.where({u} > 5, {u}, -1)", "torch.where({u} > 5, {u}, 1.5)",
    "{u}.clamp(3, 100)", "{u}.clamp(min=-5)", "{u}.sign()", "{u}.square()", "{u}.bitwise_not()", "{u}.logical_not()", "{u}.to(torch.int32) - 300", "{u}.bool()", "{u}.to(torch.bool).sum()",
    "torch.div({u}, 3, rounding_mode='floor')", "torch.div({u}, 2, rounding_mode='trunc')", "torch.remainder({u}, 5)", "torch.fmod({u}, 5)", "{u}.pow(3)", "torch.cat([{u}, {u}]).sum()",
    "{u}.mean(dtype=torch.float32)", "{u}.sum(dtype={u}.dtype)", "torch.stack([{u}, {u}]).max(0).values", "torch.add({u}, {u}, alpha=2)", "torch.sub({u}, 1, alpha=3)", "{u}.diff()", "{u}.flip(0) - {u}",
    "torch.maximum({u}, {u}.flip(0))", "{u}.float() - 1", "({u} - 1) > 0", "(-{u}).float()", "({u} * 2).to(torch.int64)", "(-{u} + 1).sum()", "abs(-{u})", "torch.neg(torch.abs({u}))", "(10 - {u}) // 4",
    "{u}.view(torch.int8) if {u}.dtype == torch.uint8 else {u}", "torch.nonzero({u} > 3)", "torch.gcd({u}, {u} + 2)", "torch.lerp({u}.float(), ({u} + 1).float(), 0.5)", "{u}.dot({u})", "torch.count_nonzero({u})",
    "{u}.logical_xor({u} > 2)", "{u}.true_divide(4)", "torch.bitwise_left_shift({u}, 2)", "{u}.cummax(0).values", "{u}.repeat(2).cumsum(0)", "{u}.nansum()", "torch.trace({u}.unsqueeze(0))", "{u}.ne(0).all()", "torch.equal({u}, {u} + 0)",
    "torch.logical_and({u}, {u} - 1)", "torch.isin({u}, torch.tensor([1, 2], dtype={u}.dtype))", "{u}.unique()", "torch.bincount({u}.abs()) if {u}.dtype == torch.uint8 else {u}", "{u}.std(0) if {u}.is_floating_point() else {u}",
)  # fmt: skip


@mutator("small_integers", "small-integer-borders")
def small_integers(subject: Subject, draw: Draw) -> str | None:
    """A tensor cast to a small integer type, full range, through ops whose result type or wrap-around is easy to get wrong."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    dtype = draw.choice(["uint8", "uint8", "uint8", "int8", "int8", "int16", "int32", "bool"])
    u = subject.fresh("u")
    wide = f"({v.name}.flatten()[:24].to(torch.int64) * {draw.choice([37, 11, 101, 53])} + {draw.choice([0, 1, 250, 127])})"
    low, high = BORDERS.get(dtype, (0, 1))
    span = min(high - low + 1, 2**16)
    subject.insert(site, f"{u} = ({wide}.remainder({span}) + {low}).to(torch.{dtype})")
    ops = [t for t in draw.sample(SMALL, draw.whole(5, 8)) if dtype != "bool" or not any(bad in t for bad in ("-{u}", "~{u} ", "- 2", "10 -", "(-", "neg", "- {u}", "- 1", ".sub", "abs", "<<", ">>", "diff", "sign", "gcd", "shift", "//"))]
    subject.observe(*(t.format(u=u) for t in ops))
    return dtype


@mutator("integer_borders", "integer-overflow")
def integer_borders(subject: Subject, draw: Draw) -> str | None:
    """Values at the ends of an integer type, built from the tensor's size; arithmetic that stays defined."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    dtype = draw.choice(["int8", "int16", "int32", "int64", "uint8"])
    low, high = BORDERS[dtype]
    e = subject.fresh("edge")
    values = draw.sample([low, low + 1, high, high - 1, 0, 1, 2, high // 2, (low + 1) // 2 if low else 3], 6)
    subject.insert(site, f"{e} = torch.tensor({values}, dtype=torch.{dtype}) + {v.name}.flatten()[:1].to(torch.{dtype}) * 0")
    pool = [
        "{e}.max()", "{e}.min()", "{e} // 3", "{e} % 5", "torch.remainder({e}, 7)", "torch.fmod({e}, 7)", "{e} > 0", "{e}.argmax()", "{e}.sort().values", "{e}.clamp(-3, 3)" if low else "{e}.clamp(1, 3)", "{e} & 1",
        "{e} >> 1", "{e}.to(torch.float64)", "{e}.sum(dtype=torch.int64) if {e}.dtype != torch.int64 else {e}.amax()", "{e}.amin(0)", "torch.where({e} > 0, {e}, {e} // 2)", "{e} == {e}.max()", "{e}.bool().all()",
        "torch.div({e}, 2, rounding_mode='floor')", "{e}.to(torch.int16)", "{e}.to(torch.uint8)", "~{e}", "{e}.cummax(0).values", "{e} ^ 1", "torch.maximum({e}, {e}.flip(0))", "{e} * 1", "{e} / 2", "{e}.float().sum()", "{e} < 1.5", "{e} == 0.5",
        "{e}.median()", "{e}.to(torch.int32) if {e}.dtype != torch.int64 else {e} // 4", "torch.searchsorted({e}.sort().values, {e})", "{e} % -3" if low else "{e} % 3", "{e} // -2" if low else "{e} // 2", "torch.bitwise_or({e}, 4)",
    ]  # fmt: skip
    subject.observe(*(t.format(e=e) for t in draw.sample(pool, draw.whole(4, 7))))
    return dtype


@mutator("index_arithmetic", "index-arithmetic")
def index_arithmetic(subject: Subject, draw: Draw) -> str | None:
    """Counting tensors (arange, full, constants) in arithmetic beyond 32 bits, that a compiler may propagate as index expressions."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    i = subject.fresh("steps")
    size = max(2, min(v.shape[0], 12))
    big = draw.choice([2000000011, 3000000000, 2**31, 2**32 + 1, 123456789012, 2**40 + 3])
    make = draw.choice(
        [f"torch.arange({size})", f"torch.arange({size})", f"torch.arange({v.name}.shape[0])", f"torch.arange({size}, 0, -1)", f"torch.arange(2147483640, 2147483640 + {size})", f"torch.arange(0, {2 * size}, 2)"]
    )
    subject.insert(site, f"{i} = {make}")
    pool = [
        f"{i} * {big}", f"{i} * torch.tensor([{big}])", f"{i} * {i} * 900000007", f"({i} + 2147483640) * 3", f"{i} * torch.full(({i}.shape[0],), {big})", f"{i} << 33", f"{i} + {big}", f"{i} * {big} // 7", f"({i} * {big}) % 1000",
        f"{i} - {big}", f"({i} * {big}).to(torch.float64)", f"{i}.to(torch.int32) * 3", f"{i} * 2 - 1", f"{i} // 2 * {big}", f"({i} * {big}) > 2147483647", f"torch.where({i} > 1, {i} * {big}, {i})", f"{i}[:, None] * {big} + {i}[None, :]",
        f"({i} + {big}).remainder(10)", f"torch.ones_like({i}) * {big}", f"{i}.float() * 0.5", f"{i} * -{big}", f"torch.add({i}, {i}, alpha={big})", f"{i}.cumsum(0) * {big}", f"({i} * {big}) >> 3", f"-{i} * {big}", f"{i}.abs() * {big} - {big}",
        f"({i} * {big}).clamp(max=5)", f"torch.maximum({i} * {big}, {i})", f"{i} * {i} * {i} * 2000003", f"({i} % 3) * {big}", f"torch.zeros(({i}.shape[0],), dtype=torch.int64) + {big}", f"{i}.flip(0) * {big}", f"{i} * {big} == 0",
    ]  # fmt: skip
    subject.observe(*draw.sample(pool, draw.whole(4, 7)))
    return make.split("(")[0].removeprefix("torch.")


@mutator("promotion", "type-promotion")
def promotion(subject: Subject, draw: Draw) -> str | None:
    """0-dim tensors, Python scalars and tensors of other dtypes in one expression: who decides the result's type?"""
    found = subject.pick(draw, lambda v: v.dtype in ("float32", "int64", "float16", "bfloat16", "int32", "uint8", "int8", "int16", "float64"))
    if found is None:
        return None
    site, v = found
    p = subject.fresh("p")
    dtype = draw.choice(["float16", "bfloat16", "int8", "uint8", "int32", "float32", "bool", "int16", "float64"])
    subject.insert(site, f"{p} = {v.name}.flatten()[:8].to(torch.int8).remainder(7).to(torch.{dtype})")
    zero_dim = [f"torch.tensor({value}, dtype=torch.{t})" for value, t in (("2.5", "float64"), ("2", "int64"), ("1", "int8"), ("True", "bool"), ("3", "float16"), ("3.0", "bfloat16"), ("250", "uint8"))]
    pool = []
    for scalar in draw.sample(zero_dim, 3):
        pool += [f"{p} + {scalar}", f"{p} * {scalar}", f"torch.where({p} > 1, {p}, {scalar})", f"{scalar} / ({p} + 1)", f"torch.maximum({p}, {scalar})", f"{p} == {scalar}", f"torch.stack([{p}[0], {scalar}.to({p}.dtype)])", f"{p}.flatten()[0] * {scalar}"]
    pool += [
        f"{p} + 1.5", f"{p} * 2", f"{p} / 2", f"{p} // 2", f"{p} * True", f"{p} ** 2", f"{p} > 1.5", f"torch.cat([{p}, {p}.float()])", f"torch.cat([{p}, torch.ones(2, dtype=torch.int64)])", f"{p}.sum()", f"{p}.mean(dtype=torch.float32)",
        f"torch.where({p} > 0, {p}, 1.0)", f"torch.where({p} > 0, 1, 2.5)", f"{p} + torch.ones(1, dtype=torch.float16)", f"torch.add({p}, 1, alpha=2)", f"torch.clamp({p}, 0.5, 3)", f"torch.result_type({p}, 2.5) == torch.float32",
        f"{p}.masked_fill({p} > 2, 1)", f"torch.full_like({p}, 3)", f"torch.rsub({p}, 3)" if dtype != "bool" else f"{p} | True", f"torch.lerp({p}.float(), {p}.float() + 1, 0.25)", f"torch.mul({p}, 2.5)", f"torch.pow(2, {p})", f"2.0 ** {p}", f"torch.arange(3) * {p}[:1]",
        f"torch.addcmul({p}.float(), {p}.float(), {p}.float(), value=2)", f"torch.atan2({p}, {p} + 1)", f"torch.true_divide({p}, 3)", f"torch.isclose({p}.float(), {p} + 0.0)", f"{p}.to(torch.int64) * 0.5", f"{p}.cumsum(0)", f"torch.heaviside({p}, {p})",
    ]  # fmt: skip
    subject.observe(*draw.sample(pool, draw.whole(5, 8)))
    return dtype


@mutator("cast_chain", "cast-chain")
def cast_chain(subject: Subject, draw: Draw) -> str | None:
    """Casts there and back again, with work between; each cast rounds or cuts."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1 and v.integral)
    if found is None:
        return None
    site, v = found
    names = []
    current = f"({v.name}.flatten()[:16].float() * 0.75)"
    chain = []
    for _ in range(draw.whole(2, 4)):
        dtype = draw.choice(["float16", "bfloat16", "float32", "float64", "int32", "int64", "int16"])
        work = draw.choice(["{c}", "({c} + 1)", "({c} * 2)", "({c} - {c}.amax())", "{c}.clamp(-100, 100)"])
        name = subject.fresh("cast")
        subject.insert(site, f"{name} = {work.format(c=current)}.to(torch.{dtype})")
        names.append(name)
        chain.append(dtype)
        current = name
    subject.observe(*names, f"{current} == {current}.to(torch.float32)")
    return ".".join(chain[:2])


@mutator("small_dtype_inputs", "small-integer-borders")
def small_dtype_inputs(subject: Subject, draw: Draw) -> str | None:
    """An input in another dtype, so that the whole program runs in it."""
    values = [v for v in subject.values if v.position is not None and v.numeric and v.integral and v.kind == "Tensor"]
    if not values or subject.entry is None:
        return None
    v = draw.choice(values)
    offset = 1 if subject.entry.args.args and subject.entry.args.args[0].arg == "self" else 0
    dtype = draw.choice([d for d in ("uint8", "int8", "int16", "int32", "int64", "float64", "float16", "bfloat16") if d != v.dtype])
    if not subject.wrap_input((v.position or 0) - offset, "{v}.to(torch.%s)" % dtype):  # noqa: UP031
        return None
    return dtype
