"""Views and writes through them: what was read before a write stays, what shares memory changes with it."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value


def view_of(v: Value, draw: Draw) -> tuple[str, str]:
    """An expression that views ``v``'s memory (or, like reshape, may), and a word for it."""
    n = v.name
    options = [
        ("detach", f"{n}.detach()"),
        ("view_as", f"{n}.view_as({n})"),
        ("unsqueeze", f"{n}.unsqueeze(0)"),
        ("data", f"{n}.data"),
        ("alias", f"torch.ops.aten.alias({n})"),
    ]
    if v.contiguous:
        options += [("view", f"{n}.view(-1)"), ("flatten", f"{n}.flatten()"), ("reshape", f"{n}.reshape(-1)"), ("ravel", f"{n}.ravel()")]
    if v.rank >= 1:
        size = v.shape[0]
        options += [
            ("slice", f"{n}[1:]"),
            ("step", f"{n}[::2]"),
            ("select", f"{n}[0]"),
            ("narrow", f"{n}.narrow(0, 0, {max(1, size - 1)})"),
            ("chunk", f"{n}.chunk(2)[0]"),
            ("split", f"{n}.split(1)[-1]"),
            ("unbind", f"{n}.unbind(0)[-1]"),
            ("expand", f"{n}.unsqueeze(0).expand(1, *{n}.shape)"),
            ("as_strided", f"{n}.as_strided(({size},), ({v.stride[0]},))"),
            ("tensor_split", f"torch.tensor_split({n}, 2)[0]"),
            ("movedim", f"{n}.movedim(0, -1)"),
        ]
        if size >= 2:
            options += [("unfold", f"{n}.unfold(0, 2, 2)")]
    if v.rank >= 2:
        options += [
            ("t", f"{n}.transpose(0, 1)"),
            ("diagonal", f"{n}.diagonal(dim1=-2, dim2=-1)"),
            ("last", f"{n}[..., -1]"),
            ("columns", f"{n}[:, :1]"),
            ("permute", f"{n}.permute({', '.join(map(str, reversed(range(v.rank))))})"),
            ("mT", f"{n}.mT"),
            ("column_step", f"{n}[:, ::2]"),
        ]
    if v.contiguous and v.dtype in ("float32", "int32") and v.rank:
        other = "int32" if v.dtype == "float32" else "float32"
        options += [
            ("dtype", f"{n}.view(torch.{other})"),
            ("dtype_narrow", f"{n}.view(torch.int16)"),
            ("dtype_bytes", f"{n}.view(torch.uint8)"),
        ]
    return draw.choice(options)


def change(target: str, v: Value, draw: Draw) -> tuple[str, str]:
    """A statement that writes into a tensor of any shape, and a word for it."""
    options = [
        ("add_", f"{target}.add_(1)"),
        ("mul_", f"{target}.mul_(2)"),
        ("fill_", f"{target}.fill_(3)"),
        ("zero_", f"{target}.zero_()"),
        ("copy_", f"{target}.copy_({target} + 2)"),
        ("clamp_", f"{target}.clamp_(0, 5)"),
        ("setitem", f"{target}[...] = 4"),
        ("masked_fill_", f"{target}.masked_fill_({target} > 1, 9)"),
        ("isub", f"{target} -= 3"),
        ("set_all", f"{target}[:] = {target} * 2" if v.rank else f"{target}.add_(2)"),
    ]
    if v.dtype not in ("uint8",):
        options += [("neg_", f"{target}.neg_()"), ("abs_", f"{target}.abs_()"), ("relu_", f"torch.relu_({target})")]
    if v.floating:
        options += [("div_", f"{target}.div_(2)"), ("floor_", f"{target}.floor_()"), ("square_", f"{target}.square_()")]
    return draw.choice(options)


def _fits(v: Value) -> bool:
    return v.numeric and v.rank >= 1


@mutator("view_write", "view-then-write")
def view_write(subject: Subject, draw: Draw) -> str | None:
    """View, write through it or through the base, hand out base, view and what was read before."""
    found = subject.pick(draw, _fits, written=True)
    if found is None:
        return None
    site, v = found
    kind, text = view_of(v, draw)
    view, early, later = subject.fresh("view"), subject.fresh("early"), subject.fresh("later")
    through = draw.chance(0.6)
    target = view if through else v.name
    spelled, line = change(target, Value(view, "", 0, (2,), "uint8" if kind.startswith("dtype") else v.dtype) if through else v, draw)
    if kind.startswith("dtype") and through:
        spelled, line = draw.choice(
            [("zero_", f"{view}.zero_()"), ("fill_", f"{view}.fill_(3)"), ("copy_", f"{view}.copy_({view}.flip(0))")]
        )
    before = draw.choice([f"{v.name} * 2", f"{v.name}.sum()", f"{view} + 0", f"{v.name}.clone()", f"{view}.clone()"])
    after = draw.choice([f"{v.name} * 2", f"{view} + 0", f"{v.name}.sum()", f"{view}.sum()"])
    subject.insert(site, f"{view} = {text}\n{early} = {before}\n{line}\n{later} = {after}")
    subject.observe(*draw.sample([view, early, later, v.name], 4))
    return f"{kind}.{spelled}.{'view' if through else 'base'}"


@mutator("view_chain_write", "view-then-write")
def view_chain_write(subject: Subject, draw: Draw) -> str | None:
    """A view of a view of a view, written at its end."""
    found = subject.pick(draw, lambda v: _fits(v) and v.contiguous, written=True)
    if found is None:
        return None
    site, v = found
    kinds, name = [], v.name
    current = v
    for _ in range(draw.whole(2, 3)):
        kind, text = view_of(current, draw)
        if kind.startswith("dtype") or kind == "as_strided":
            kind, text = "unsqueeze", f"{current.name}.unsqueeze(-1)"
        name = subject.fresh("view")
        subject.insert(site, f"{name} = {text}")
        current = Value(name, "", 0, (), v.dtype, contiguous=False)
        kinds.append(kind)
    spelled, line = change(name, Value(name, "", 0, (), v.dtype), draw)
    subject.insert(site, line)
    subject.observe(v.name, name)
    return ".".join([*kinds, spelled])


@mutator("views_overlap", "overlapping-views")
def views_overlap(subject: Subject, draw: Draw) -> str | None:
    """Two views that overlap, written in turn from each other."""
    found = subject.pick(draw, lambda v: _fits(v) and v.shape[0] >= 3, written=True)
    if found is None:
        return None
    site, v = found
    a, b = subject.fresh("head"), subject.fresh("tail")
    pairs = [
        ("slices", f"{v.name}[:-1]", f"{v.name}[1:]"),
        ("ends", f"{v.name}[:2]", f"{v.name}[-2:]"),
        ("steps", f"{v.name}[: {v.shape[0] // 2 * 2} : 2]", f"{v.name}[1 : {v.shape[0] // 2 * 2} : 2]"),
    ]
    if v.rank >= 2 and v.shape[0] == v.shape[1]:
        pairs += [("square", f"{v.name}.transpose(0, 1)", f"{v.name}[:]"), ("diagonal", f"{v.name}.diagonal()", f"{v.name}[0]")] * 2
    word, first, second = draw.choice(pairs)
    lines = draw.sample(
        [
            f"{a}.add_({b}.clone())",
            f"{b}.mul_(2)",
            f"{a}.copy_({b}.clone())",
            f"{b}.sub_({a}.clone())",
            f"{a}.add_(1)",
            f"{b}.copy_({a} + 1)",
            f"{a} += {b} * 2",
        ],
        draw.whole(2, 3),
    )
    subject.insert(site, "\n".join([f"{a} = {first}", f"{b} = {second}", *lines]))
    subject.observe(v.name, a, b)
    return word


@mutator("expand_write", "expanded-then-written")
def expand_write(subject: Subject, draw: Draw) -> str | None:
    """An expanded or broadcast view that is read after its base is written."""
    found = subject.pick(draw, _fits, written=True)
    if found is None:
        return None
    site, v = found
    wide = subject.fresh("wide")
    word, text = draw.choice(
        [
            ("expand", f"{v.name}.unsqueeze(0).expand(3, *{v.name}.shape)"),
            ("broadcast_to", f"torch.broadcast_to({v.name}, (2, *{v.name}.shape))"),
            ("expand_last", f"{v.name}.unsqueeze(-1).expand(*{v.name}.shape, 2)"),
            ("broadcast_tensors", f"torch.broadcast_tensors({v.name}, torch.ones(2, *{v.name}.shape))[0]"),
            ("row", f"{v.name}[:1].expand_as({v.name})"),
            ("as_strided", f"{v.name}.as_strided((3, {v.shape[0]}), (0, {v.stride[0]}))"),
        ]
    )
    spelled, line = change(v.name, v, draw)
    used = draw.choice([f"{wide} + 0", f"{wide}.sum(0)", f"{wide}.clone()", f"{wide}.contiguous()", f"{wide} * 2", f"{wide}.reshape(-1)"])
    fresh = subject.fresh("read")
    subject.insert(site, f"{wide} = {text}\n{line}\n{fresh} = {used}")
    subject.observe(fresh, v.name)
    if draw.chance(0.3):
        subject.observe(wide)
    return f"{word}.{spelled}"


@mutator("strided_window", "as-strided-window")
def strided_window(subject: Subject, draw: Draw) -> str | None:
    """Overlapping windows by as_strided or unfold, read or written after the base changed."""
    found = subject.pick(draw, lambda v: _fits(v) and v.numel >= 6 and v.contiguous and v.offset == 0, written=True)
    if found is None:
        return None
    site, v = found
    window = subject.fresh("window")
    step = draw.choice([1, 2])
    rows = (v.numel - 2) // step
    word, text = draw.choice(
        [
            ("as_strided", f"{v.name}.as_strided(({min(rows, 4)}, 2), ({step}, 1))"),
            ("as_strided_flat", f"torch.as_strided({v.name}, ({v.numel // 2},), (2,))"),
            ("as_strided_offset", f"torch.as_strided({v.name}, ({v.numel - 2},), (1,), 2)"),
            ("unfold", f"{v.name}.view(-1).unfold(0, 3, {step})"),
            ("as_strided_back", f"{v.name}.view(-1)[2:].as_strided(({v.numel - 2},), (1,), 0)"),
            ("scatter", f"torch.as_strided_scatter({v.name}, {v.name}.view(-1)[:2] * 5, (2,), (2,))"),
        ]
    )
    spelled, line = change(v.name, v, draw)
    if draw.chance(0.4) and word in ("as_strided_flat", "as_strided_offset", "as_strided_back"):
        spelled, line = change(window, Value(window, "", 0, (2,), v.dtype), draw)
    read = subject.fresh("read")
    subject.insert(site, f"{window} = {text}\n{line}\n{read} = {window} * 2")
    subject.observe(read, v.name)
    return f"{word}.{spelled}"


@mutator("read_between_writes", "view-then-write")
def read_between_writes(subject: Subject, draw: Draw) -> str | None:
    """Write, read, write, read: every read sees its own moment."""
    found = subject.pick(draw, _fits, written=True)
    if found is None:
        return None
    site, v = found
    reads = []
    for _ in range(draw.whole(2, 3)):
        name = subject.fresh("read")
        how = draw.choice(
            [
                f"{v.name}.sum(0)",
                f"{v.name} + 1",
                f"{v.name}.clone()",
                f"{v.name}[0] * 2",
                f"{v.name}.amax()",
                f"torch.cat([{v.name}, {v.name}])",
                f"{v.name}.flip(0)",
            ]
        )
        line = change(v.name, v, draw)[1]
        if draw.chance(0.4):
            line = change(f"{v.name}[:1]", Value("", "", 0, (1,), v.dtype), draw)[1]
        subject.insert(site, f"{name} = {how}\n{line}")
        reads.append(name)
    subject.observe(*reads, v.name)
    return f"{len(reads)}"


@mutator("same_tensor_twice", "same-tensor-in-containers")
def same_tensor_twice(subject: Subject, draw: Draw) -> str | None:
    """One tensor under two names, in a list, a dict and a closure, written through one of them."""
    found = subject.pick(draw, _fits, written=True)
    if found is None:
        return None
    site, v = found
    box, read = subject.fresh("box"), subject.fresh("read")
    make, through = draw.choice(
        [
            (f"{box} = [{v.name}, {v.name} + 1]", f"{box}[0]"),
            (f"{box} = {{'a': {v.name}, 'b': {v.name}[:1]}}", f"{box}['b']"),
            (f"{box} = ({v.name}.view_as({v.name}), {v.name})", f"{box}[0]"),
            (f"{box} = [t for t in {v.name}]", f"{box}[-1]"),
            (f"{box} = list({v.name}.unbind(0))", f"{box}[0]"),
            (f"{box} = {v.name}.split(1)", f"{box}[0]"),
        ]
    )
    spelled, line = change(through, Value("", "", 0, (), v.dtype), draw)
    line = line.replace(f"{through} -= 3", f"{through}.sub_(3)")
    subject.insert(site, f"{make}\n{line}\n{read} = {v.name} * 2")
    subject.observe(read, v.name, through)
    return spelled
