"""Ops that change what a tensor is, not only what it holds: resize_, set_, as_strided_, t_, out= that has to grow."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value


def _fits(v: Value) -> bool:
    return v.numeric and v.rank >= 1 and v.numel >= 2


def _python(name: str) -> list[str]:
    return [f"list({name}.shape)", f"list({name}.stride())"]


@mutator("metadata_write", "metadata-mutation")
def metadata_write(subject: Subject, draw: Draw) -> str | None:
    """An in-place change of shape or stride, then the tensor, its shape, what is computed from it."""
    found = subject.pick(draw, _fits)
    if found is None:
        return None
    site, v = found
    changed = subject.fresh("changed")
    options = [
        ("unsqueeze_", f"{changed}.unsqueeze_(0)"),
        ("as_strided_", f"{changed}.as_strided_(({max(1, v.numel // 2)},), (1,))"),
        ("squeeze_", f"{changed}.squeeze_()"),
        ("resize_same", f"{changed}.resize_({v.numel})"),
        ("resize_smaller", f"{changed}.resize_({max(1, v.numel // 2)})"),
        ("set_", f"{changed}.set_({v.name}.flatten() + 1)"),
        ("resize_2d", f"{changed}.resize_(1, {v.numel})"),
        ("data", f"{changed}.data = {v.name}.flatten() * 3"),
    ]
    if v.rank >= 2:
        options += [
            ("t_", f"{changed}.transpose_(0, 1)"),
            ("swapaxes_", f"{changed}.swapaxes_(0, -1)"),
            ("t_2d", f"{changed}.t_()" if v.rank == 2 else f"{changed}.swapdims_(0, 1)"),
        ]
    word, line = draw.choice(options)
    start = draw.choice([f"{v.name} * 1", f"{v.name}.clone()", f"{v.name} + 1"])
    subject.insert(site, f"{changed} = {start}\n{line}")
    subject.observe(changed, f"{changed} + 1", *draw.sample(_python(changed), 1))
    return word


@mutator("metadata_write_of_view", "metadata-mutation")
def metadata_write_of_view(subject: Subject, draw: Draw) -> str | None:
    """The same on a view: does the base follow, and does it keep its own shape?"""
    found = subject.pick(draw, _fits)
    if found is None:
        return None
    site, v = found
    base, view = subject.fresh("base"), subject.fresh("view")
    shape = draw.choice(["view(-1)", "unsqueeze(0)", "flatten()", "detach()", "view_as({base})", "[...]", "reshape(-1)"]).format(base=base)
    text = f"{base}{shape}" if shape.startswith("[") else f"{base}.{shape}"
    word, line = draw.choice(
        [
            ("resize_larger", f"{view}.resize_({v.numel * 2 + 3})\n{view}.zero_()"),
            ("resize_smaller", f"{view}.resize_({max(1, v.numel // 2)})\n{view}.add_(1)"),
            ("squeeze_", f"{view}.squeeze_()\n{view}.add_(1)"),
            ("unsqueeze_", f"{view}.unsqueeze_(-1)\n{view}.mul_(2)"),
            ("as_strided_", f"{view}.as_strided_((2,), (1,))\n{view}.fill_(7)"),
            ("transpose_", f"{view}.transpose_(0, -1)\n{view}.add_(1)"),
        ]
    )
    subject.insert(site, f"{base} = ({v.name} * 3).contiguous()\n{view} = {text}\n{line}")
    subject.observe(f"{base} - 1", base, f"list({base}.shape)", f"list({view}.shape)")
    return word


OUTS = pools.items("out_arguments")
PAIRS = pools.items("out_pairs")
LONG_SECOND = frozenset({"max", "sort", "topk", "cummax", "kthvalue", "median", "mode", "min", "max_aten", "topk_aten", "sort_aten"})
LONG_FIRST = {"arange": "torch.long", "argmax": "torch.long", "eq": "torch.bool"}


@mutator("out_argument", "out-argument")
def out_argument(subject: Subject, draw: Draw) -> str | None:
    """out= with an empty tensor that grows, a view, another layout, or the source itself."""
    found = subject.pick(draw, lambda v: _fits(v) and not v.requires_grad and v.dtype in ("float32", "int64", "float64"))
    if found is None:
        return None
    site, v = found
    out = subject.fresh("out")
    if draw.chance(0.35):
        word, text = draw.choice(PAIRS)
        out2 = subject.fresh("out")
        second = "torch.long" if word in LONG_SECOND else f"{v.name}.dtype"
        subject.insert(
            site,
            f"{out} = torch.empty(0, dtype={v.name}.dtype)\n{out2} = torch.empty(0, dtype={second})\n"
            + text.format(v=v.name, out=out, out2=out2),
        )
        subject.observe(out, out2, f"list({out}.shape)", f"list({out2}.shape)")
        return word
    word, text = draw.choice(OUTS)
    dtype = LONG_FIRST.get(word, f"{v.name}.dtype")
    start = draw.choice(
        [
            ("empty", f"torch.empty(0, dtype={dtype})"),
            ("empty", f"torch.empty(0, dtype={dtype})"),
            ("zeros_like", f"torch.zeros_like({v.name}, dtype={dtype})"),
            (
                "transposed",
                f"torch.zeros({tuple(reversed(v.shape))}, dtype={dtype}).permute({', '.join(map(str, reversed(range(v.rank))))})",
            ),
            ("slice", f"torch.zeros(({v.shape[0] * 2}, *{v.name}.shape[1:]), dtype={dtype})[::2]"),
        ]
    )
    alias = subject.fresh("kept")
    subject.insert(site, f"{out} = {start[1]}\n{alias} = {out}\n" + text.format(v=v.name, out=out))
    subject.observe(out, f"{alias} + 1" if dtype != "torch.bool" else alias, *draw.sample(_python(out), 1))
    return f"{word}.{start[0]}"
