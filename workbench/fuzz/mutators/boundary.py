"""Special values and sizes: NaN, infinities, -0.0, subnormals, nothing at all, one element, sizes at the tail of a vector."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

SPECIAL = ("float('nan')", "float('inf')", "-float('inf')", "-0.0", "1e-40", "-1e-40", "3.0e38", "0.5", "1.5", "-2.5", "1e30")

ON_SPECIAL = pools.calls("special_values")


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


ON_EMPTY = pools.calls("empty")


@mutator("empty_tensors", "empty-tensors")
def empty_tensors(subject: Subject, draw: Draw) -> str | None:
    """A part of size zero in reductions, joins and products."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    e = subject.fresh("nothing")
    subject.insert(
        site,
        f"{e} = {draw.choice([f'{v.name}[:0]', f'{v.name}[{v.shape[0]}:]', f'{v.name}.narrow(0, 0, 0)', f'{v.name}.new_empty((0, *{v.name}.shape[1:]))'])}",
    )
    pool = [t for t in ON_EMPTY if v.floating or not any(w in t for w in ("mean", "var", "std", "norm", "softmax", "logsumexp"))]
    subject.observe(*(t.format(e=e, v=v.name) for t in draw.sample(pool, draw.whole(4, 7))))
    return "empty"


ON_SCALAR = pools.calls("zero_dim")


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
ON_TAIL = pools.calls("tails")


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
    subject.insert(
        site,
        f"{t} = {source} + torch.arange({n}) % {draw.choice([7, 13, 5])}"
        if v.integral
        else f"{t} = (torch.arange({n}) * 7 % 23).float() + {v.name}.detach().flatten()[:1].float() * 0",
    )
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
        [
            ("one_row", "{v}[:1]"),
            ("no_row", "{v}[:0]"),
            ("repeat", "torch.cat([{v}] * 5)"),
            ("one_column", "{v}[..., :1]"),
            ("tail", "torch.cat([{v}] * 9)[:33]"),
        ]
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
    pool = [t for t in pools.calls("literals") if v.numel >= 9 or "9" not in t]
    subject.observe(*(t.format(b=b) for t in draw.sample(pool, draw.whole(4, 7))))
    return "literals"
