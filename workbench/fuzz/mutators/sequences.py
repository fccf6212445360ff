"""Sequences that optimisation passes recognise: attention, joins and splits, constants that fold, no-ops that vanish, products that regroup."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.parameters import _spread, shaped
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject


def _source(subject: Subject, draw: Draw, shape: tuple[int, ...], stem: str) -> tuple[str, object] | None:
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 2)
    if found is None:
        return None
    site, v = found
    name = subject.fresh(stem)
    subject.insert(site, f"{name} = {shaped(v, shape)} % 7 + {_spread(shape)} % 11")
    return name, site


@mutator("attention_pattern", "attention-pattern")
def attention_pattern(subject: Subject, draw: Draw) -> str | None:
    """Hand-written attention in the many forms that a pattern matcher may take for the fused one."""
    batch, heads, length, width = draw.choice([(1, 2, 4, 8), (1, 4, 4, 16), (2, 2, 4, 4), (1, 4, 4, 4), (2, 4, 8, 16)])
    made = _source(subject, draw, (batch, heads, length, width), "q")
    if made is None:
        return None
    q, site = made
    k, v, s, o = (subject.fresh(n) for n in ("k", "v", "scores", "attended"))
    turned = draw.choice(
        [
            "transpose(-2, -1)",
            "transpose(-2, -1)",
            "transpose(2, 3)",
            "permute(0, 2, 3, 1)" if heads == length else "permute(0, 1, 3, 2)",
            "mT",
        ]
    )
    scale = draw.choice([".div(4.0)", " / 2.0", " * 0.25", "", ".mul(0.125)", " * torch.tensor(0.5)", ".div(torch.tensor(2.0))"])
    mask = draw.choice(
        [
            "",
            "",
            f" + torch.ones({length}, {length}).triu(1) * -10",
            f".masked_fill(torch.ones({length}, {length}).triu(1) > 0, float('-inf'))",
            f" + torch.arange({length}.0)",
        ]
    )
    soft = draw.choice(
        [
            "torch.softmax({s}, -1)",
            "torch.softmax({s}, dim=-1)",
            "torch.softmax({s}, 2)",
            "{s}.softmax(-1).to(torch.float32)",
            "torch.nn.functional.dropout({s}.softmax(-1), 0.0)",
            "torch.nn.functional.dropout({s}.softmax(-1), 0.2, False)",
        ]
    )
    layout = draw.choice(["", "", ".transpose(1, 2).contiguous().transpose(1, 2)"])
    product = f"torch.matmul({q} / 8, {k}.{turned})"
    subject.insert(
        site,  # type: ignore[arg-type]
        f"{k} = ({q}.flip(2) % 5){layout}\n{v} = {q}.roll(1, 2) % 3\n{s} = {product}{scale}\n{s} = {s}{mask}\n{o} = torch.matmul({soft.format(s=s)}, {v})",
    )
    subject.observe(o)
    return turned.split("(")[0]


JOINS = pools.calls("joins")
FOLDS = pools.calls("folds")
NOOPS = pools.calls("no_ops")
PRODUCTS = pools.calls("products")
SCANS = pools.calls("scans")


def _pool_mutator(name: str, characteristic: str, pool: tuple[str, ...], about: str) -> None:
    def apply(subject: Subject, draw: Draw) -> str | None:
        made = _source(subject, draw, (4, 6), "m")
        if made is None:
            return None
        chosen = draw.sample(pool, draw.whole(4, 7))
        for text in chosen:
            fresh = subject.fresh("out")
            subject.insert(made[1], f"{fresh} = (lambda x: {text})({made[0]})" if " for " in text else f"{fresh} = {_named(text, made[0])}")  # type: ignore[arg-type]
            subject.observe(fresh)
        return name.removeprefix("seq_")

    apply.__doc__ = about
    apply.__module__ = __name__
    mutator(name, characteristic)(apply)


def _named(text: str, name: str) -> str:
    import re

    return re.sub(r"\bx\b", name, text)


_pool_mutator(
    "join_and_split",
    "join-split-chains",
    JOINS,
    "cat, split, stack, unbind, pad and slices of them, in orders that look like a no-op and are not.",
)
_pool_mutator(
    "constant_folding",
    "constant-folding",
    FOLDS,
    "Tensors made of constants, combined and scanned: what a folder may compute ahead must be what eager computes.",
)
_pool_mutator("no_op_chains", "no-op-chains", NOOPS, "Pairs of ops that cancel, or only nearly.")
_pool_mutator("product_chains", "product-chains", PRODUCTS, "Matrix products with scales, biases, single rows, transposes around them.")
_pool_mutator("reduction_chains", "reduction-epilogues", SCANS, "Reductions and scans that feed each other, with an order-sensitive end.")
