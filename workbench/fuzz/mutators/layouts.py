"""Layouts: transposed, channels-last, stepped, offset and expanded memory in front of ops that walk memory in order."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

INPUTS = (
    ("transposed", "{v}.transpose(0, -1).contiguous().transpose(0, -1)"),
    ("stepped", "torch.stack([{v}, {v} * 0], -1)[..., 0]"),
    ("offset", "torch.cat([{v}[:1], {v}])[1:]"),
    ("flipped_strides", "{v}.flip(0).clone().flip(0)"),
    ("wide_rows", "torch.cat([{v}, {v}], -1)[..., : {v}.shape[-1]]"),
    ("every_second", "{v}.repeat_interleave(2, 0)[::2]"),
    ("clone_preserve", "{v}.transpose(0, -1).clone().transpose(0, -1)"),
    ("expanded", "{v}[:1].expand_as({v})"),
    ("size_one_stride", "{v}.unsqueeze(0).as_strided((1, *{v}.shape), (1, *{v}.stride())).squeeze(0)"),
)


@mutator("input_layout", "input-layout")
def input_layout(subject: Subject, draw: Draw) -> str | None:
    """An input with the same values in another layout."""
    values = [v for v in subject.values if v.position is not None and v.rank >= 1 and v.kind == "Tensor"]
    if not values or subject.entry is None:
        return None
    v = draw.choice(values)
    offset = 1 if subject.entry.args.args and subject.entry.args.args[0].arg == "self" else 0
    options = [o for o in INPUTS if v.rank >= 2 or o[0] not in ("transposed", "clone_preserve")]
    if v.rank == 4:
        options += [("channels_last", "{v}.contiguous(memory_format=torch.channels_last)")] * 3
    word, template = draw.choice(options)
    return word if subject.wrap_input((v.position or 0) - offset, f"(lambda t: {template.format(v='t')})({{v}})") else None


def arranged(v: Value, draw: Draw) -> tuple[str, str]:
    """An expression with ``v``'s elements in another layout, and a word for it."""
    n, last = v.name, v.rank - 1
    options = [
        ("transpose", f"{n}.transpose(0, {last})"),
        ("transpose_clone", f"{n}.transpose(0, {last}).clone()"),
        ("contiguous", f"{n}.transpose(0, {last}).contiguous()"),
        ("roll", f"{n}.transpose(0, {last}).roll(1, 0)"),
        ("flip", f"{n}.transpose(0, {last}).flip(0)"),
        ("clone_contiguous", f"{n}.transpose(0, {last}).clone(memory_format=torch.contiguous_format)"),
        ("add", f"{n}.transpose(0, {last}) + 1"),
        ("cat", f"torch.cat([{n}.transpose(0, {last}), {n}.transpose(0, {last})])"),
        ("empty_like", f"torch.empty_like({n}.transpose(0, {last})).copy_({n}.transpose(0, {last}))"),
        ("step", f"{n}[::2]"),
        ("expand", f"{n}[:1].expand(3, *{n}.shape[1:])"),
        ("stack", f"torch.stack([{n}, {n} + 1], -1)"),
        ("to", f"{n}.transpose(0, {last}).to(torch.float64)"),
        ("mul_outer", f"{n}.transpose(0, {last}) * {n}.transpose(0, {last})"),
        ("index", f"{n}.transpose(0, {last})[torch.tensor([1, 0])]"),
        ("where", f"torch.where({n}.transpose(0, {last}) > 2, {n}.transpose(0, {last}), 0)"),
    ]
    if v.rank == 4:
        options += [
            ("channels_last", f"{n}.contiguous(memory_format=torch.channels_last)"),
            ("channels_last_roll", f"{n}.contiguous(memory_format=torch.channels_last).roll(1, 1)"),
            ("channels_last_to", f"{n}.to(memory_format=torch.channels_last) * 2"),
        ]
    if v.rank == 3:
        options += [("permute", f"{n}.permute(2, 0, 1)"), ("permute_clone", f"{n}.permute(1, 2, 0).clone()")]
    return draw.choice(options)


READERS = pools.calls("readers")


@mutator("layout_chain", "layout-chain")
def layout_chain(subject: Subject, draw: Draw) -> str | None:
    """Rearrange once or twice, then ops that depend on the order of elements in memory."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 2 and min(v.shape) >= 2)
    if found is None:
        return None
    site, v = found
    word, text = arranged(v, draw)
    w = subject.fresh("laid")
    subject.insert(site, f"{w} = {text}")
    if draw.chance(0.4):
        made = Value(w, "", 0, v.shape, v.dtype, numel=v.numel, integral=v.integral)
        again, text = arranged(made, draw)
        w = subject.fresh("laid")
        subject.insert(site, f"{w} = {text}")
        word += f".{again}"
    if draw.chance(0.25):
        subject.insert(site, f"{w} = {w}.clone()\n{w}.add_(1)")
        word += ".written"
    readers = [t for t in READERS if v.floating or "softmax" not in t]
    subject.observe(*(t.format(w=w) for t in draw.sample(readers, draw.whole(4, 7))), w)
    return word


@mutator("mixed_layouts", "layout-chain")
def mixed_layouts(subject: Subject, draw: Draw) -> str | None:
    """Two operands of one op in different layouts, then an order-sensitive op on the result."""
    found = subject.pick(draw, lambda v: v.numeric and v.rank >= 2 and v.shape[0] == v.shape[-1] and v.shape[0] >= 2)
    square = None
    if found is None:
        found = subject.pick(draw, lambda v: v.numeric and v.numel >= 4)
        square = "square"
    if found is None:
        return None
    site, v = found
    base = v.name
    if square:
        base = subject.fresh("square")
        n = draw.choice([4, 8, 3])
        subject.insert(
            site, f"{base} = {v.name}.detach().flatten()[:1].float() * 0 + (torch.arange({n * n}) * 11 % {n * n + 2}).reshape({n}, {n})"
        )
    both = subject.fresh("both")
    op = draw.choice(
        [
            "{b}.transpose(0, -1) + {b}",
            "torch.maximum({b}.transpose(0, -1), {b})",
            "torch.where({b} > 3, {b}.transpose(0, -1), {b})",
            "{b} * 2 - {b}.transpose(0, -1)",
            "torch.stack([{b}, {b}.transpose(0, -1)])",
            "torch.cat([{b}.transpose(0, -1), {b}])",
        ]
    )
    subject.insert(site, f"{both} = {op.format(b=base)}")
    readers = [t for t in READERS if v.floating or square or "softmax" not in t]
    subject.observe(*(t.format(w=both) for t in draw.sample(readers, draw.whole(4, 6))))
    return op.split("(")[0].replace("{b}", "x").strip()[:24]
