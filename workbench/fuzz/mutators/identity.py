"""Ops that give their argument back unchanged, around writes: fresh memory in eager must stay fresh, an alias must stay an alias."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value


def unchanged(v: Value, draw: Draw) -> tuple[str, str]:
    """An expression equal to ``v`` (fresh or alias as eager has it), and a word for it."""
    n = v.name
    options = [
        ("add0", f"{n} + 0"),
        ("mul1", f"{n} * 1"),
        ("sub0", f"{n} - 0"),
        ("to", f"{n}.to({n}.dtype)"),
        ("clone", f"{n}.clone()"),
        ("contiguous", f"{n}.contiguous()"),
        ("view_as", f"{n}.view_as({n})"),
        ("expand_as", f"{n}.expand_as({n})"),
        ("slice", f"{n}[...]"),
        ("stack", f"torch.stack([{n}])[0]"),
        ("where", f"torch.where(torch.ones_like({n}, dtype=torch.bool), {n}, {n})"),
        ("broadcast", f"torch.broadcast_to({n}, {n}.shape)"),
        ("identity", f"torch.nn.Identity()({n})"),
        ("positive", f"torch.positive({n})" if v.dtype != "bool" else f"{n} | {n}"),
        ("detach", f"{n}.detach()"),
        ("reshape", f"{n}.reshape({n}.shape)"),
        ("real", f"torch.real({n})"),
        ("conj", f"{n}.conj()"),
    ]
    if v.rank:
        ones = ", ".join("1" for _ in v.shape)
        options += [
            ("repeat", f"{n}.repeat({ones})"),
            ("repeat", f"{n}.repeat({ones})"),
            ("tile", f"{n}.tile(({ones},))"),
            ("cat_empty", f"torch.cat([{n}, {n}[:0]])"),
            ("cat_one", f"torch.cat([{n}])"),
            ("roll0", f"{n}.roll(0, 0)"),
            ("flip2", f"{n}.flip(0).flip(0)"),
            ("pad0", f"torch.nn.functional.pad({n}, (0, 0))"),
            ("slice_full", f"{n}[:]"),
            ("narrow_full", f"{n}.narrow(0, 0, {v.shape[0]})"),
            ("permute", f"{n}.permute({', '.join(map(str, range(v.rank)))})"),
            ("swap2", f"{n}.transpose(0, -1).transpose(0, -1)"),
            ("index_all", f"{n}.index_select(0, torch.arange({v.shape[0]}))"),
            ("slice_scatter", f"torch.slice_scatter({n}, {n})"),
            ("split1", f"torch.split({n}, {v.shape[0]})[0]"),
            ("chunk1", f"{n}.chunk(1)[0]"),
            ("repeat_interleave", f"{n}.repeat_interleave(1, 0)"),
            ("constant_pad", f"torch.constant_pad_nd({n}, (0, 0), 1)"),
            ("unflatten", f"{n}.unsqueeze(0).flatten(0, 1)"),
            ("hstack", f"torch.hstack([{n}])"),
            ("movedim", f"{n}.movedim(0, 0)"),
        ]
    if v.rank >= 2:
        options += [("tril_all", f"{n}.tril({v.shape[-1]})"), ("triu_all", f"{n}.triu(-{v.shape[-2]})")]
    if v.floating:
        options += [
            ("dropout_eval", f"torch.nn.functional.dropout({n}, 0.3, False)"),
            ("dropout_eval", f"torch.nn.functional.dropout({n}, 0.3, training=False)"),
            ("dropout_p0", f"torch.nn.functional.dropout({n}, 0.0, True)"),
            ("div1", f"{n} / 1"),
            ("pow1", f"{n} ** 1"),
            ("float", f"{n}.{_cast(v)}()"),
            ("alpha_dropout", f"torch.nn.functional.alpha_dropout({n}, 0.5, False)"),
            ("feature_dropout", f"torch.feature_dropout({n}, 0.4, False)"),
            ("nan_to_num_none", f"torch.clamp({n}, min=float('-inf'))"),
            ("rrelu", f"torch.nn.functional.rrelu({n}.abs(), 0.1, 0.1)"),
        ]
    return draw.choice(options)


def _cast(v: Value) -> str:
    return {"float16": "half", "bfloat16": "bfloat16", "float32": "float", "float64": "double"}[v.dtype]


def _change(name: str, v: Value, draw: Draw) -> str:
    return (
        draw.choice([f"{name}.add_(1)", f"{name}.mul_(3)", f"{name}.fill_(7)", f"{name}.zero_()", f"{name}.sub_(2)", f"{name}.neg_()"])
        if v.dtype not in ("bool", "uint8")
        else f"{name}.zero_()"
    )


def _fits(v: Value) -> bool:
    return v.dtype != "bool" and v.dtype not in ("complex64", "complex128")


@mutator("identity_after_write", "identity-after-write")
def identity_after_write(subject: Subject, draw: Draw) -> str | None:
    """Write in place, then hand out what equals the written tensor."""
    found = subject.pick(draw, _fits, written=True)
    if found is None:
        return None
    site, v = found
    subject.insert(site, _change(v.name, v, draw))
    words = []
    for _ in range(draw.whole(1, 3)):
        word, text = unchanged(v, draw)
        name = subject.fresh("same")
        subject.insert(site, f"{name} = {text}")
        subject.observe(name)
        words.append(word)
    return words[0]


@mutator("identity_then_write", "identity-before-write")
def identity_then_write(subject: Subject, draw: Draw) -> str | None:
    """Take what equals a tensor, write into one of the two, read the other."""
    found = subject.pick(draw, _fits, written=True)
    if found is None:
        return None
    site, v = found
    word, text = unchanged(v, draw)
    same = subject.fresh("same")
    subject.insert(site, f"{same} = {text}")
    written, read = (same, v.name) if draw.chance(0.6) else (v.name, same)
    if draw.chance(0.3):
        early = subject.fresh("early")
        subject.insert(site, f"{early} = {read} * 2")
        subject.observe(early)
    subject.insert(site, _change(written, v, draw))
    later = subject.fresh("later")
    subject.insert(site, f"{later} = {read} + 0")
    subject.observe(later, same)
    return f"{word}.{'same' if written == same else 'base'}"


@mutator("identity_zero_size_write", "zero-size-write")
def identity_zero_size_write(subject: Subject, draw: Draw) -> str | None:
    """A write that covers nothing, then what equals the tensor."""
    found = subject.pick(draw, lambda v: _fits(v) and v.rank >= 1, written=True)
    if found is None:
        return None
    site, v = found
    n, size = v.name, v.shape[0]
    line = draw.choice(
        [
            f"{n}[{size}:] = 5",
            f"{n}[1:1] = 5",
            f"{n}[{size}:].add_(1)",
            f"{n}.narrow(0, {size}, 0).zero_()",
            f"{n}[:0].copy_({n}[:0])",
            f"{n}[torch.zeros(0, dtype=torch.long)] = 3",
            f"{n}[torch.zeros({size}, dtype=torch.bool)] = 2",
            f"{n}[:, {v.shape[1]}:] = 1" if v.rank > 1 else f"{n}[{size}:].mul_(2)",
        ]
    )
    subject.insert(site, line)
    words = []
    for _ in range(draw.whole(1, 2)):
        word, text = unchanged(v, draw)
        name = subject.fresh("same")
        subject.insert(site, f"{name} = {text}")
        subject.observe(name)
        words.append(word)
    return words[0]


@mutator("identity_twice", "identity-twice")
def identity_twice(subject: Subject, draw: Draw) -> str | None:
    """Several tensors that equal one intermediate, all handed out: which share memory?"""
    found = subject.pick(draw, _fits)
    if found is None:
        return None
    site, v = found
    base = subject.fresh("base")
    subject.insert(
        site, f"{base} = {draw.choice([f'{v.name} * 2', f'{v.name}.neg()' if v.dtype != 'uint8' else f'{v.name} * 3', f'{v.name} - 1'])}"
    )
    made = Value(base, v.function, v.line, v.shape, v.dtype, numel=v.numel, integral=v.integral)
    words = []
    for _ in range(draw.whole(2, 4)):
        word, text = unchanged(made, draw)
        name = subject.fresh("same")
        subject.insert(site, f"{name} = {text}")
        subject.observe(name)
        words.append(word)
    return "+".join(sorted(words)[:2])


@mutator("identity_of_input", "identity-of-input")
def identity_of_input(subject: Subject, draw: Draw) -> str | None:
    """Hand out what equals an input, untouched: fresh or alias?"""
    found = subject.pick(draw, lambda v: _fits(v) and v.position is not None)
    if found is None:
        return None
    _, v = found
    words = []
    for _ in range(draw.whole(2, 5)):
        word, text = unchanged(v, draw)
        subject.observe(text)
        words.append(word)
    return words[0]
