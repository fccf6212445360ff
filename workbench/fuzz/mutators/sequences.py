"""Sequences that optimisation passes recognise: attention, joins and splits, constants that fold, no-ops that vanish, products that regroup."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
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
    turned = draw.choice(["transpose(-2, -1)", "transpose(-2, -1)", "transpose(2, 3)", "permute(0, 2, 3, 1)" if heads == length else "permute(0, 1, 3, 2)", "mT"])
    scale = draw.choice([".div(4.0)", " / 2.0", " * 0.25", "", ".mul(0.125)", " * torch.tensor(0.5)", ".div(torch.tensor(2.0))"])
    mask = draw.choice(["", "", f" + torch.ones({length}, {length}).triu(1) * -10", f".masked_fill(torch.ones({length}, {length}).triu(1) > 0, float('-inf'))", f" + torch.arange({length}.0)"])
    soft = draw.choice(["torch.softmax({s}, -1)", "torch.softmax({s}, dim=-1)", "torch.softmax({s}, 2)", "{s}.softmax(-1).to(torch.float32)", "torch.nn.functional.dropout({s}.softmax(-1), 0.0)", "torch.nn.functional.dropout({s}.softmax(-1), 0.2, False)"])
    layout = draw.choice(["", "", ".transpose(1, 2).contiguous().transpose(1, 2)"])
    product = f"torch.matmul({q} / 8, {k}.{turned})"
    subject.insert(
        site,  # type: ignore[arg-type]
        f"{k} = ({q}.flip(2) % 5){layout}\n{v} = {q}.roll(1, 2) % 3\n{s} = {product}{scale}\n{s} = {s}{mask}\n{o} = torch.matmul({soft.format(s=s)}, {v})",
    )
    subject.observe(o)
    return turned.split("(")[0]


JOINS = (
    "torch.cat([x[:, :2], x[:, 2:]], 1)", "torch.cat(x.split(2, 1)[::-1], 1)", "torch.stack(x.unbind(0))", "torch.stack(x.unbind(1), 1)", "torch.cat([t * 2 for t in x.split(2, 1)], 1)", "torch.cat([x.split(2, 1)[0], x.split(2, 1)[0]], 1)", "torch.cat([x[:, :2], x[:, 4:], x[:, 2:4]], 1)", "torch.stack([t.relu() for t in x.chunk(2, 1)])", "torch.cat([x, x.expand(4, 6)], 0)",
    "torch.cat([x[:1].expand(3, 6), x])", "torch.cat([x.t(), x.t()]).t()", "torch.cat([torch.cat([x, x + 1]), x * 2])", "torch.cat([x, torch.zeros(0, 6), x + 1])", "torch.stack([x, x])[1]", "torch.cat([x, x])[4:]", "torch.cat([x, x], 1)[:, 3:9]", "torch.nn.functional.pad(x, (1, 1))[:, 1:-1]", "torch.nn.functional.pad(torch.nn.functional.pad(x, (1, 0)), (0, 2), value=3)",
    "torch.cat([t.sum(1, keepdim=True) for t in x.split([1, 2, 3], 1)], 1)", "torch.stack([x[i] * i for i in range(4)])", "torch.cat([x[::2], x[1::2]])", "x.view(2, 2, 6).transpose(0, 1).reshape(4, 6)", "x.unsqueeze(0).expand(2, 4, 6).reshape(8, 6)", "x.permute(1, 0).permute(1, 0)", "x.view(-1).view(6, 4).view(4, 6)", "x.reshape(2, 12).t().reshape(4, 6)", "torch.hstack(torch.hsplit(x, 3))", "torch.cat([x.tanh(), x.tanh()]).relu().split(4)[1]",
    "torch.split(torch.cat([x, x * 2], 1), [5, 7], 1)[1]", "torch.cat([c.contiguous() for c in x.chunk(3, 1)])", "torch.stack([torch.stack([x, x + 1]), torch.stack([x + 2, x + 3])])", "torch.cat([a + b for a, b in zip(x.split(3, 1), x.flip(1).split(3, 1))], 1)", "torch.cat([x.select(0, i).unsqueeze(0) for i in (3, 1, 2)])", "torch.unbind(torch.stack([x, x * 2, x * 3]))[2]", "torch.cat(torch.split(x, [2, 4], 1)[::-1], 1)", "torch.cat([x[:, i : i + 2].amax(1) for i in range(0, 6, 2)])",
    "torch.stack([t.clamp(0, 3) for t in x.unbind(1)], 1)", "torch.cat([x.relu(), x.sigmoid() * 0, x.abs()], -1)", "torch.cat([x, x.narrow(1, 0, 2)], 1).narrow(1, 5, 3)", "torch.squeeze(torch.cat([x.unsqueeze(1), x.unsqueeze(1)], 1).select(1, 1))", "torch.cat([s.squeeze(1) for s in x.split(1, 1)])", "torch.stack([s.squeeze(1) for s in x.split(1, 1)], 1)", "torch.cat([s.unsqueeze(0) for s in x.unbind(0)], 0) + 1",
)  # fmt: skip
FOLDS = (
    "torch.ones(4, 6).cumsum(1) + x", "torch.full((4, 6), 2.0).cumsum(0)", "torch.full([4], True).cumsum(0)", "torch.ones(6, dtype=torch.int32).cumsum(0)", "torch.zeros(4, 6).scatter(1, torch.full((4, 1), 2), 1.0) + x", "torch.full((4, 6), 3.0).where(x > 2, x)", "(torch.arange(6) * 2 + 1)[2:] - 1", "torch.arange(24).reshape(4, 6)[x.long() % 4, 1]", "torch.eye(4) @ x", "x * torch.eye(4, 6)", "torch.zeros(4, 6) @ x.t() + 1",
    "torch.tril(torch.ones(4, 6)) * x", "torch.ones(4, 4).triu(1).bool()", "x + torch.tensor([1, 2, 3, 4, 5, 6])", "x.new_full((4, 6), 3) + x", "torch.full_like(x, 2).cumsum(0)", "torch.ones_like(x).sum(0)", "torch.zeros_like(x).logical_not().sum()", "torch.arange(4).unsqueeze(1) == torch.arange(6)", "(torch.arange(6) < 3) & (x > 1)", "torch.linspace(0, 5, 6) * x", "torch.tensor(3.0).expand(4, 6) - x", "torch.full((), 5) // 2 + x", "torch.arange(10).flip(0)[:6] + x",
    "torch.arange(6).float().mul(0.1).cumsum(0) * 0 + x", "torch.index_select(torch.arange(6) * 3, 0, torch.tensor([5, 0]))", "torch.where(torch.arange(6) > 2, x, -x)", "torch.ones(6).masked_fill(torch.arange(6) > 3, 0) * x", "torch.full((4, 6), 7, dtype=torch.uint8) + x.to(torch.uint8)", "torch.cat([torch.ones(4, 2), torch.zeros(4, 4)], 1) * x", "torch.arange(6).remainder(4).eq(1) * x", "x @ torch.eye(6)[:, :3]", "torch.repeat_interleave(torch.arange(3), 2) + x", "torch.zeros(6).index_fill(0, torch.tensor([1, 4]), 3) + x",
    "torch.triu_indices(4, 6)[0]", "torch.nn.functional.one_hot(torch.arange(4), 6) * x", "torch.empty(4, 6).fill_(2) + x", "torch.zeros(4, 6).copy_(x) + 1", "torch.zeros(6).index_put((torch.tensor([1]),), torch.tensor(2.0)) + x", "torch.arange(2, 8).pow(2).sub(x)", "torch.full((4, 6), -1).abs().sum()", "torch.tensor([[1, 2], [3, 4]]).cumsum(0).flip(1)", "(torch.arange(6) + 0.5).floor().long() * 2", "torch.arange(0, 6, 1, dtype=torch.float16) + 1",
)  # fmt: skip
NOOPS = (
    "x + 0 - 0", "x * 1 / 1", "-(-x)", "x.to(torch.float64).to(torch.float32)", "x.to(torch.float16).to(torch.float32)", "x.to(torch.int64).to(torch.float32)", "x.t().t()", "x.flip(0).flip(0)", "x.roll(2, 0).roll(-2, 0)", "x.exp().log().round()", "x.clone().clone()", "x.contiguous().view(4, 6).contiguous()", "x.unsqueeze(0).squeeze(0)", "x.sum(()).sum()", "x.relu().relu()", "x.abs().abs()", "x.clamp(0, 5).clamp(1, 4)", "x.clamp(max=2).clamp(min=3)", "x.neg().abs()", "x.floor().round()", "x.bool().bool()",
    "x.permute(1, 0).contiguous().permute(1, 0)", "x.masked_fill(x > 3, 3).masked_fill(x > 3, 4)", "x.amax(1, keepdim=True).expand_as(x).amax(1)", "(x > 2).to(torch.float32) * x", "x.where(x > 2, 0).where(x > 3, 1)", "(x * 2) * 3", "(x + 1) + 2", "(x / 2) / 4", "x.square().sqrt()", "x.sign() * x.abs()", "x - x.floor()", "x.reshape(24).reshape(4, 6)[1]", "x[1:][1:]", "x[::2][::2]", "x[:, 1:4][:, 1:]", "x.narrow(0, 1, 3).narrow(0, 1, 1)", "x.select(0, 1).select(0, 2)", "x.expand(2, 4, 6).sum(0)", "x.repeat(2, 1)[:4]", "x.transpose(0, 1)[2].unsqueeze(0)",
    "x.softmax(0).softmax(0)", "(x - x.mean(0)).sum(0).round()", "torch.min(torch.max(x, torch.tensor(1.0)), torch.tensor(4.0))", "torch.maximum(torch.minimum(x, x + 1), x - 1)", "x.cumsum(0).diff(dim=0)", "x.to(torch.uint8).to(torch.int32) - 5", "x.to(torch.bfloat16).to(torch.float32)", "x.double().float().half().float()", "x.int().float().int()", "x.view(torch.int32).view(torch.float32)", "x.bool().int().bool()", "x.sum(0, keepdim=True).squeeze(0).unsqueeze(0)", "x.logical_not().logical_not()", "torch.logical_xor(x > 1, x > 1)", "(x > 1) == (x > 1)", "~(x > 2) | (x > 2)",
)  # fmt: skip
PRODUCTS = (
    "x @ x.t() @ x", "(x @ x.t()) * 2", "x @ (x.t() * 0.5)", "(x * 2) @ x.t()", "x @ x.t() + torch.arange(4.0)", "torch.addmm(x @ x.t(), x, x.t())", "torch.nn.functional.linear(x, x) + 1", "(x.unsqueeze(1) * x).sum(-1)", "(x.unsqueeze(2) * x.unsqueeze(1)).sum(0)", "x.t() @ x + x.t() @ x", "torch.cat([x @ x.t(), x @ x.t()])", "torch.mm(x, x.t()).t()", "torch.bmm(x.unsqueeze(0), x.t().unsqueeze(0)).squeeze(0)", "x[:1] @ x.t()", "x @ x[0]", "x[:, :1] @ x[:1]",
    "torch.matmul(x.expand(2, 4, 6), x.t())", "torch.matmul(x.unsqueeze(0), x.t().expand(3, 6, 4))", "torch.einsum('ij,ij->i', x, x)", "torch.einsum('ij,kj,k->i', x, x, x[:, 0])", "(x @ x.t()).relu() @ x", "x @ x.t() / x.sum()", "torch.nn.functional.linear(x, x[:2], x[0, :2]).relu()", "(x @ x.t()).softmax(-1).round()", "torch.mm(x.to(torch.float64), x.t().to(torch.float64))", "torch.outer(x[0], x[1]) @ x.t()", "x.matmul(torch.eye(6)).matmul(torch.ones(6, 2))", "(x.view(4, 2, 3) @ x.view(4, 3, 2)).sum(0)", "torch.tensordot(x, x.t(), 1)",
    "torch._int_mm(x.to(torch.int8).repeat(8, 4), x.to(torch.int8).repeat(8, 4).t())", "x.to(torch.int32) @ x.t().to(torch.int32)", "torch.addmm(torch.zeros(4), x, x.t()).add(1)", "torch.mm(x, x.t()).add(x[:, 0]).mul(2)", "torch.baddbmm(torch.zeros(1, 4, 4), x.unsqueeze(0), x.t().unsqueeze(0))", "(x @ x.t()).diagonal().sum() - (x * x).sum()", "torch.mm(x, x.t())[1:, 1:].contiguous()", "torch.mm(x[::2], x.t()[:, ::2])", "torch.mm(x.t(), x.t().t())",
)  # fmt: skip
SCANS = (
    "x.cumsum(0).cumsum(1)", "x.softmax(1).cumsum(1)", "(x - x.amax(1, keepdim=True)).exp().sum(1).log().round()", "x.sum(1).sum(0)", "x.amax(1).argmax()", "(x.mean(1, keepdim=True) - x).square().mean(1)", "x.var(1) + x.mean(1)", "x.sort(1).values.cumsum(1)", "x.argsort(1).argsort(1)", "x.topk(2).indices.sum(0)", "x.max(1).indices + x.min(1).indices", "torch.stack([x.sum(), x.amax(), x.amin()])", "(x == x.amax(1, keepdim=True)).int().argmax(1)", "x.cummax(1).values.diff(dim=1)", "x.flip(1).cumsum(1).flip(1)",
    "x.cumprod(1).clamp(max=100).sum(1)", "torch.nn.functional.softmax(x, 1).argmax(1) + x.argmax(1)", "x.sum(0, keepdim=True).expand(4, 6).sum(1)", "(x > x.median()).sum(0).cumsum(0)", "x.view(2, 2, 6).amax(1).sum(0)", "x.reshape(-1).cumsum(0).reshape(4, 6)[:, -1]", "x.norm(dim=1).square().round()", "(x / x.sum(1, keepdim=True)).sum(1).round()", "x.sum(1).unsqueeze(1) + x.sum(0)", "x.any(1) & x.all(0)[:4]", "x.amax((0, 1)) - x.amin((0, 1))", "x.unfold(1, 2, 1).amax(2).cumsum(1)", "x.logsumexp(1).exp().round() * 0",
    "torch.gather(x, 1, x.argsort(1)).diff(dim=1) >= 0", "x.scatter(1, x.argmax(1, keepdim=True), -1.0).amax(1)", "torch.zeros(4, 6).scatter_add(1, x.long() % 6, x).cumsum(1)", "x.index_select(0, x.sum(1).argsort()).sum(0)", "torch.bincount(x.long().flatten() % 5).cumsum(0)", "x[x.sum(1) > x.sum(1).mean()].sum(0)",
)  # fmt: skip


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


_pool_mutator("join_and_split", "join-split-chains", JOINS, "cat, split, stack, unbind, pad and slices of them, in orders that look like a no-op and are not.")
_pool_mutator("constant_folding", "constant-folding", FOLDS, "Tensors made of constants, combined and scanned: what a folder may compute ahead must be what eager computes.")
_pool_mutator("no_op_chains", "no-op-chains", NOOPS, "Pairs of ops that cancel, or only nearly.")
_pool_mutator("product_chains", "product-chains", PRODUCTS, "Matrix products with scales, biases, single rows, transposes around them.")
_pool_mutator("reduction_chains", "reduction-epilogues", SCANS, "Reductions and scans that feed each other, with an order-sensitive end.")
