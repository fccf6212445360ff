"""Operators with parameters at the edge of what they document. The pools are data: each entry is one call on a tensor of a given shape."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value


def shaped(v: Value, shape: tuple[int, ...]) -> str:
    """``v``'s elements, repeated or cut to another shape, as float32 and cut off from autograd; whole numbers stay whole."""
    size = 1
    for n in shape:
        size *= n
    flat = f"{v.name}.detach().flatten()"
    repeats = -(-size // max(1, v.numel))
    long = f"{flat}.repeat({repeats})" if repeats > 1 else flat
    base = f"{long}[:{size}].reshape{shape}.float()"
    return base if v.integral else f"({base} * 4).round()"


def _spread(shape: tuple[int, ...]) -> str:
    """Different whole numbers for every element, so that a wrong place shows."""
    size = 1
    for n in shape:
        size *= n
    return f"(torch.arange({size}).reshape{shape} * 7 % {max(size, 11) + 2}).float()"


def _base(subject: Subject, draw: Draw, shape: tuple[int, ...], stem: str) -> tuple[str, Value] | None:
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 2)
    if found is None:
        return None
    site, v = found
    name = subject.fresh(stem)
    subject.insert(site, f"{name} = {shaped(v, shape)} + {_spread(shape)}")
    return name, v


def _observe(subject: Subject, draw: Draw, pool: tuple[str, ...], name: str, most: tuple[int, int] = (4, 7)) -> None:
    subject.need("import torch.nn.functional as F")
    subject.observe(*(filled(t, name) for t in draw.sample(pool, draw.whole(*most))))


def filled(template: str, name: str) -> str:
    """The template with ``@`` replaced by a name, except where it stands between two operands and is the matrix product."""
    parts: list[str] = []
    before = ""
    for character in template:
        is_operand = character == "@" and not (before and (before.isalnum() or before in ")]"))
        parts.append(name if is_operand else character)
        if not character.isspace():
            before = "a" if is_operand else character
    return "".join(parts)


@mutator("resize_parameters", "resize-parameters")
def resize_parameters(subject: Subject, draw: Draw) -> str | None:
    """interpolate with scales that are no whole numbers, one per axis, with and without align_corners, antialias, recompute."""
    shape = draw.choice([(1, 1, 4, 3), (1, 2, 4, 5), (2, 1, 5, 4), (1, 3, 6, 7)])
    made = _base(subject, draw, shape, "image")
    if made is None:
        return None
    subject.need("import torch.nn.functional as F")
    image = made[0]
    modes = []
    for _ in range(draw.whole(3, 5)):
        mode = draw.choice(["nearest", "nearest", "nearest-exact", "bilinear", "bicubic", "area"])
        scale = f"({draw.choice(['1.2', '0.6', '2.0', '1.7', '2.5', '0.5', '1.1', '1.0'])}, {draw.choice(['2.0', '1.3', '0.7', '1.0', '3.0', '1.5'])})"
        size = f"({draw.whole(1, 9)}, {draw.whole(1, 9)})"
        options = [f"scale_factor={scale}", f"scale_factor={scale}", f"size={size}", f"scale_factor={scale}, recompute_scale_factor=True"]
        text = f"F.interpolate({image}, {draw.choice(options)}, mode={mode!r}"
        if mode in ("bilinear", "bicubic"):
            text += draw.choice(["", ", align_corners=True", ", align_corners=False", ", antialias=True"])
        subject.observe(text + ")")
        modes.append(mode)
    return modes[0]


POOLING = pools.calls("pooling")


@mutator("pooling_parameters", "pooling-parameters")
def pooling_parameters(subject: Subject, draw: Draw) -> str | None:
    """Pooling with ceil_mode, padding, divisor_override, dilation, uneven sizes."""
    made = _base(subject, draw, draw.choice([(1, 2, 7, 6), (2, 1, 5, 5), (1, 1, 8, 9)]), "image")
    if made is None:
        return None
    _observe(subject, draw, POOLING, made[0], (3, 5))
    return "pool"


MATMUL = pools.calls("matmul")


@mutator("matmul_factors", "matmul-factors")
def matmul_factors(subject: Subject, draw: Draw) -> str | None:
    """alpha and beta of the addmm family at 0, 0.0 and others, with NaN where beta says it does not matter; single rows, empty inner sizes."""
    made = _base(subject, draw, (5, 4), "m")
    if made is None:
        return None
    a, b = draw.choice(["0", "0.0", "2", "-1", "0.5"]), draw.choice(["0", "0.0", "0", "1", "3"])
    pool = tuple(
        t.format(a=a if ".long()" not in t else a.split(".")[0], b=b if ".long()" not in t else b.split(".")[0])
        for t in MATMUL
        if "beta=0" not in t
    )
    _observe(
        subject, draw, tuple(t.replace("torch.full((4,), float('nan'))", "torch.full((5,), float('nan'))") for t in pool), made[0], (3, 6)
    )
    return f"alpha{a}.beta{b}"


REDUCTIONS = pools.calls("reductions")


@mutator("reduction_parameters", "reduction-parameters")
def reduction_parameters(subject: Subject, draw: Draw) -> str | None:
    """Reductions with empty or negative dims, correction at or above n, unusual norms, dtype."""
    made = _base(subject, draw, draw.choice([(5, 6), (3, 17), (4, 4)]), "m")
    if made is None:
        return None
    _observe(subject, draw, REDUCTIONS, made[0])
    return "reductions"


SHAPES = pools.calls("shapes")


@mutator("shape_parameters", "shape-parameters")
def shape_parameters(subject: Subject, draw: Draw) -> str | None:
    """Shifts beyond the size, negative pads, far diagonals, empty splits, negative and repeated indices."""
    made = _base(subject, draw, (4, 6), "m")
    if made is None:
        return None
    _observe(subject, draw, SHAPES, made[0])
    return "shapes"


SCATTERS = pools.calls("scatters")


@mutator("scatter_parameters", "scatter-parameters")
def scatter_parameters(subject: Subject, draw: Draw) -> str | None:
    """Scatter, index and embedding ops with include_self, accumulate, padding_idx, negative and repeated indices where order cannot matter."""
    made = _base(subject, draw, (4, 6), "m")
    if made is None:
        return None
    index = "((torch.arange(24).reshape(4, 6) + 1) % 4)"
    _observe(subject, draw, tuple(t.replace("{i}", index) for t in SCATTERS), made[0], (3, 6))
    return "scatters"


ACTIVATIONS = pools.calls("functions")


@mutator("function_parameters", "function-parameters")
def function_parameters(subject: Subject, draw: Draw) -> str | None:
    """Activations, losses, norms, convolutions with negative slopes, zero lambdas, crossed bounds, ignored indices."""
    made = _base(subject, draw, (4, 6), "m")
    if made is None:
        return None
    _observe(subject, draw, ACTIVATIONS, made[0])
    return "functions"
