"""Mixed and small dtypes: promotion, wrap-around, casts, values at the borders of a type."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

BORDERS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}

SMALL = pools.calls("small_integers")
SIGNED = ("{e}.clamp(-3, 3)", "{e} % -3", "{e} // -2")
UNSIGNED = ("{e}.clamp(1, 3)", "{e} % 3", "{e} // 2")
ZERO_DIM = tuple(
    f"torch.tensor({value}, dtype=torch.{dtype})"
    for value, dtype in (
        ("2.5", "float64"),
        ("2", "int64"),
        ("1", "int8"),
        ("True", "bool"),
        ("3", "float16"),
        ("3.0", "bfloat16"),
        ("250", "uint8"),
    )
)
WITH_SCALAR = (
    "{p} + {scalar}",
    "{p} * {scalar}",
    "torch.where({p} > 1, {p}, {scalar})",
    "{scalar} / ({p} + 1)",
    "torch.maximum({p}, {scalar})",
    "{p} == {scalar}",
    "torch.stack([{p}[0], {scalar}.to({p}.dtype)])",
    "{p}.flatten()[0] * {scalar}",
)
NOT_FOR_BOOL = (
    "-{u}",
    "~{u} ",
    "- 2",
    "10 -",
    "(-",
    "neg",
    "- {u}",
    "- 1",
    ".sub",
    "abs",
    "<<",
    ">>",
    "diff",
    "sign",
    "gcd",
    "shift",
    "//",
)


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
    ops = [t for t in draw.sample(SMALL, draw.whole(5, 8)) if dtype != "bool" or not any(bad in t for bad in NOT_FOR_BOOL)]
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
    pool = pools.calls("integer_borders") + (SIGNED if low else UNSIGNED)
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
        [
            f"torch.arange({size})",
            f"torch.arange({size})",
            f"torch.arange({v.name}.shape[0])",
            f"torch.arange({size}, 0, -1)",
            f"torch.arange(2147483640, 2147483640 + {size})",
            f"torch.arange(0, {2 * size}, 2)",
        ]
    )
    subject.insert(site, f"{i} = {make}")
    subject.observe(*(t.format(i=i, big=big) for t in draw.sample(pools.calls("index_arithmetic"), draw.whole(4, 7))))
    return make.split("(")[0].removeprefix("torch.")


@mutator("promotion", "type-promotion")
def promotion(subject: Subject, draw: Draw) -> str | None:
    """0-dim tensors, Python scalars and tensors of other dtypes in one expression: who decides the result's type?"""
    found = subject.pick(
        draw, lambda v: v.dtype in ("float32", "int64", "float16", "bfloat16", "int32", "uint8", "int8", "int16", "float64")
    )
    if found is None:
        return None
    site, v = found
    p = subject.fresh("p")
    dtype = draw.choice(["float16", "bfloat16", "int8", "uint8", "int32", "float32", "bool", "int16", "float64"])
    subject.insert(site, f"{p} = {v.name}.flatten()[:8].to(torch.int8).remainder(7).to(torch.{dtype})")
    scalars = draw.sample(ZERO_DIM, 3)
    pool = [t.replace("{scalar}", scalar) for scalar in scalars for t in WITH_SCALAR] + list(pools.calls("promotion"))
    subject.observe(*(t.format(p=p) for t in draw.sample(pool, draw.whole(5, 8))))
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
