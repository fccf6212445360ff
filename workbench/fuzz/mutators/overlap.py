"""Writes into a tensor of something computed from another part of the same tensor: the order of reads and writes decides the result."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value


def _wide(v: Value) -> bool:
    return v.rank >= 1 and v.numeric and max(v.shape) >= 3


def _axis(v: Value, draw: Draw) -> int:
    """An axis with at least three places."""
    return draw.choice([d for d in range(v.rank) if v.shape[d] >= 3])


def _slice(axis: int, text: str) -> str:
    return ", ".join([":"] * axis + [text])


def moved(v: Value, draw: Draw) -> tuple[str, str]:
    """An expression of the same shape that reads ``v`` at other places, and a word for it."""
    axis = draw.whole(0, v.rank - 1)
    options = [
        ("flip", f"{v.name}.flip({axis})"),
        ("roll", f"{v.name}.roll({draw.choice([1, -1, 2])}, {axis})"),
        ("index", f"{v.name}.index_select({axis}, torch.arange({v.shape[axis]} - 1, -1, -1))"),
        ("take", f"{v.name}[{_slice(axis, f'torch.arange({v.shape[axis]} - 1, -1, -1)')}]"),
    ]
    squares = [(a, b) for a in range(v.rank) for b in range(a + 1, v.rank) if v.shape[a] == v.shape[b] > 1]
    for a, b in squares[:2]:
        options += [("transpose", f"{v.name}.transpose({a}, {b})"), ("transpose", f"{v.name}.transpose({a}, {b}).clone()")]
        options += [("rot90", f"torch.rot90({v.name}, 2, ({a}, {b}))")]
    return draw.choice(options)


def write(target: str, source: str, v: Value, draw: Draw) -> tuple[str, str]:
    """A statement that writes ``source`` into ``target`` in place, and a word for it."""
    options = [
        ("add_", f"{target}.add_({source})"),
        ("sub_", f"{target}.sub_({source})"),
        ("copy_", f"{target}.copy_({source})"),
        ("setitem", f"{target}[...] = {source}"),
        ("iadd", f"{target} += {source}"),
        ("maximum", f"torch.maximum({target}, {source}, out={target})"),
        ("add_alpha", f"{target}.add_({source}, alpha=2)"),
        ("where", f"{target}.copy_(torch.where({source} > 2, {source}, {target}))"),
    ]
    if v.floating:
        options += [("lerp_", f"{target}.lerp_({source}, 0.5)"), ("addcmul_", f"{target}.addcmul_({source}, {source}, value=2)")]
    return draw.choice(options)


@mutator("overlap_shift", "self-overlapping-write")
def overlap_shift(subject: Subject, draw: Draw) -> str | None:
    """x[1:] = x[:-1] in its many spellings."""
    found = subject.pick(draw, _wide, written=True)
    if found is None:
        return None
    site, v = found
    axis, step = _axis(v, draw), draw.choice([1, 1, 2])
    ahead, behind = _slice(axis, f"{step}:"), _slice(axis, f":-{step}")
    if draw.chance(0.4):
        ahead, behind = behind, ahead
    target, source = f"{v.name}[{ahead}]", f"{v.name}[{behind}]"
    dressed = draw.choice(
        [
            f"{source}.clone()",
            f"{source}.clone()",
            f"({source} + 1)",
            f"{source} * 2",
            f"{source}.contiguous().clone()",
            f"torch.stack([{source}])[0]",
        ]
    )
    spelled, line = draw.choice(
        [
            ("setitem", f"{target} = {dressed}"),
            ("copy_", f"{target}.copy_({dressed})"),
            ("add_", f"{target}.add_({dressed})"),
            ("iadd", f"{target} += {dressed}"),
            (
                "narrow",
                f"{v.name}.narrow({axis}, {step}, {v.shape[axis] - step}).copy_({v.name}.narrow({axis}, 0, {v.shape[axis] - step}).clone())",
            ),
            ("setitem", f"{target} = {dressed}"),
        ]
    )
    subject.insert(site, line)
    subject.observe(v.name)
    return spelled


@mutator("overlap_permute", "self-overlapping-write")
def overlap_permute(subject: Subject, draw: Draw) -> str | None:
    """x.add_(x.flip(0)) and its relatives."""
    found = subject.pick(draw, _wide, written=True)
    if found is None:
        return None
    site, v = found
    word, source = moved(v, draw)
    spelled, line = write(v.name, source, v, draw)
    subject.insert(site, line)
    subject.observe(v.name)
    return f"{word}.{spelled}"


@mutator("overlap_after_scatter", "scatter-then-reread")
def overlap_after_scatter(subject: Subject, draw: Draw) -> str | None:
    """A scatter-like write, then a write that re-reads the same memory at other places."""
    found = subject.pick(draw, _wide, written=True)
    if found is None:
        return None
    site, v = found
    axis = _axis(v, draw)
    first, line = scatter_like(v, axis, draw)
    word, source = moved(v, draw)
    spelled, second = write(v.name, source, v, draw)
    subject.insert(site, f"{line}\n{second}")
    subject.observe(v.name)
    return f"{first}.{word}.{spelled}"


def scatter_like(v: Value, axis: int, draw: Draw) -> tuple[str, str]:
    """A statement that writes some places of ``v``, without duplicates, and a word for it."""
    rows = "torch.tensor([0, 2])"
    part = f"{v.name}.select({axis}, 1).unsqueeze({axis})"
    shape = [2 if d == axis else n for d, n in enumerate(v.shape)]
    ones = f"torch.ones({tuple(shape)}, dtype={v.name}.dtype)"
    fill = 1
    return draw.choice(
        [
            (
                "index_put_",
                f"{v.name}.index_put_(({rows},), torch.tensor({fill}, dtype={v.name}.dtype))" if v.shape[0] >= 3 else f"{v.name}[0] = 3",
            ),
            ("index_copy_", f"{v.name}.index_copy_({axis}, {rows}, {ones})"),
            ("index_add_", f"{v.name}.index_add_({axis}, {rows}, {ones})"),
            ("index_fill_", f"{v.name}.index_fill_({axis}, {rows}, 4)"),
            ("masked_fill_", f"{v.name}.masked_fill_({v.name} > 3, 1)"),
            ("setitem", f"{v.name}[{_slice(axis, rows)}] = {ones} * 3"),
            (
                "scatter_",
                f"{v.name}.scatter_({axis}, torch.zeros({tuple(1 if d == axis else n for d, n in enumerate(v.shape))}, dtype=torch.long), 2)",
            ),
            ("mask_setitem", f"{v.name}[{v.name} > 2] = 0"),
            ("slice", f"{v.name}[{_slice(axis, '::2')}] = 5"),
            ("select", f"{part}.fill_(2)"),
        ]
    )


@mutator("overlap_broadcast", "self-broadcast-write")
def overlap_broadcast(subject: Subject, draw: Draw) -> str | None:
    """A write of a row, an element or a reduction of the tensor into all of it."""
    found = subject.pick(draw, _wide, written=True)
    if found is None:
        return None
    site, v = found
    axis = _axis(v, draw)
    at = draw.choice([0, 1, -1])
    one = f"{v.name}[{_slice(axis, f'{at}:' if at == -1 else f'{at}:{at + 1}')}]"
    places = ", ".join("0" for _ in v.shape)
    sources = [
        ("row", f"{one}.clone()"),
        ("row_shifted", f"({one} + 1)"),
        ("element", f"{v.name}[{places}].clone()"),
        ("sum", f"{v.name}.sum({axis}, keepdim=True).to({v.name}.dtype)"),
        ("amax", f"{v.name}.amax({axis}, keepdim=True)"),
        ("row_flipped", f"{one}.flip({(axis + 1) % v.rank})"),
    ]
    word, source = draw.choice(sources)
    spelled, line = draw.choice(
        [
            ("sub_", f"{v.name}.sub_({source})"),
            ("add_", f"{v.name}.add_({source})"),
            ("isub", f"{v.name} -= {source}"),
            ("mul_", f"{v.name}.mul_({source})"),
            ("copy_", f"{v.name}.copy_({source})"),
            ("row_all", f"{v.name}[{_slice(axis, '1:')}] -= {source}"),
        ]
    )
    subject.insert(site, line)
    subject.observe(v.name)
    return f"{word}.{spelled}"


@mutator("overlap_index", "setitem-reads-target")
def overlap_index(subject: Subject, draw: Draw) -> str | None:
    """x[k] = f(x[j]) where k and j are different orders of the same rows, without duplicates."""
    found = subject.pick(draw, _wide, written=True)
    if found is None:
        return None
    site, v = found
    axis = _axis(v, draw)
    size = v.shape[axis]
    order = subject.fresh("order")
    made = draw.choice(
        [
            f"torch.arange({size} - 1, -1, -1)",
            f"(torch.arange({size}) + 1) % {size}",
            f"torch.arange({size}).roll(2)",
            f"torch.argsort(torch.arange({size}) % 2, stable=True)",
        ]
    )
    place, plain = f"{v.name}[{_slice(axis, order)}]", f"{v.name}"
    spelled, line = draw.choice(
        [
            ("put_all", f"{place} = {plain} + 0"),
            ("put_self", f"{place} = {plain}.clone()"),
            ("read_other", f"{plain}[{_slice(axis, f'{order}[1:]')}] = {plain}[{_slice(axis, f'{order}[:-1]')}]"),
            ("arith", f"{place} = {place} - {plain}"),
            ("iadd", f"{place} += {plain}"),
            ("index_copy_", f"{plain}.index_copy_({axis}, {order}, {plain}.clone())"),
            ("index_add_", f"{plain}.index_add_({axis}, {order}, {plain} * 2)"),
            (
                "scatter_",
                f"{plain}.scatter_({axis}, {order}.view({tuple(size if d == axis else 1 for d in range(v.rank))}).expand({v.shape}).contiguous(), {plain} + 1)",
            ),
        ]
    )
    subject.insert(site, f"{order} = {made}\n{line}")
    subject.observe(plain)
    return spelled


@mutator("overlap_foreach", "foreach-reads-its-targets")
def overlap_foreach(subject: Subject, draw: Draw) -> str | None:
    """A foreach op over tensors that are also its sources, at other places."""
    found = subject.pick(draw, lambda v: _wide(v) and v.floating, written=True)
    if found is None:
        return None
    site, v = found
    other = subject.fresh("other")
    source = moved(v, draw)[1]
    axis = _axis(v, draw)
    ahead, behind = f"{v.name}[{_slice(axis, '1:')}]", f"{v.name}[{_slice(axis, ':-1')}]"
    spelled, line = draw.choice(
        [
            ("cross", f"torch._foreach_add_([{v.name}, {other}], [{other}, {v.name}])"),
            ("moved", f"torch._foreach_add_([{v.name}, {other}], [{source}, {v.name}])"),
            ("copy", f"torch._foreach_copy_([{ahead}], [{behind}.clone()])"),
            ("mul", f"torch._foreach_mul_([{v.name}, {other}], [{other}, {source}])"),
            ("sub", f"torch._foreach_sub_([{v.name}], [{source}])"),
            ("lerp", f"torch._foreach_lerp_([{v.name}, {other}], [{other}, {v.name}], 0.5)"),
            ("max", f"torch._foreach_maximum_([{v.name}, {other}], [{other}, {source}])"),
            ("addcmul", f"torch._foreach_addcmul_([{v.name}, {other}], [{other}, {v.name}], [{source}, {source}], 2)"),
        ]
    )
    subject.insert(site, f"{other} = {v.name} * 2 + 1\n{line}")
    subject.observe(v.name, other)
    return spelled


@mutator("overlap_scan", "self-overlapping-write")
def overlap_scan(subject: Subject, draw: Draw) -> str | None:
    """Scans, sorts and pads written back over their own source."""
    found = subject.pick(draw, lambda v: _wide(v) and v.dtype not in ("uint8", "int8", "int16"), written=True)
    if found is None:
        return None
    site, v = found
    axis = _axis(v, draw)
    spelled, line = draw.choice(
        [
            ("cumsum_", f"{v.name}.cumsum_({axis})"),
            ("cumsum_copy", f"{v.name}.copy_({v.name}.cumsum({axis}))"),
            ("sort_copy", f"{v.name}.copy_({v.name}.sort({axis}, descending=True).values)"),
            (
                "chain",
                f"{v.name}[{_slice(axis, '1:')}].add_({v.name}[{_slice(axis, ':-1')}].clone())\n{v.name}[{_slice(axis, ':-1')}].sub_({v.name}[{_slice(axis, '1:')}].clone())",
            ),
            (
                "swap",
                f"{v.name}[{_slice(axis, '0')}], {v.name}[{_slice(axis, '1')}] = {v.name}[{_slice(axis, '1')}].clone(), {v.name}[{_slice(axis, '0')}].clone()",
            ),
            (
                "loop",
                f"for i in range(1, {min(v.shape[axis], 4)}):\n    {v.name}[{_slice(axis, 'i')}] += {v.name}[{_slice(axis, 'i - 1')}]",
            ),
        ]
    )
    subject.insert(site, line)
    subject.observe(v.name)
    return spelled
