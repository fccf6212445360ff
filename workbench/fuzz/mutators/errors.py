"""Calls that eager refuses. A compiler that decomposes an op and forgets its checks returns something instead."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.parameters import filled, shaped
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

REFUSED = (
    "F.celu(@, 0.0)", "torch.celu_(@ * 1, 0.0)", "torch.bernoulli(@ + 1.5)", "torch.bernoulli(-@ - 1)", "F.binary_cross_entropy(torch.full((4, 6), 0.5), @ + 2)", "F.binary_cross_entropy(@ + 2, torch.ones(4, 6))", "torch.multinomial(-@ - 1, 1)", "torch.multinomial(@ + 1, 9)", "@.gather(1, torch.full((4, 1), 9))", "@.index_select(0, torch.tensor([7]))",
    "@[torch.tensor([5])]", "@.scatter(1, torch.full((4, 1), 8), 1.0)", "torch.nn.functional.embedding(torch.tensor([9]), @)", "F.one_hot(torch.tensor([5]), 3)", "F.one_hot(torch.tensor([-1]), 3)", "F.nll_loss(-@, torch.tensor([0, 1, 2, 9]))", "F.cross_entropy(@, torch.tensor([0, 1, -5, 2]))", "F.max_pool2d(@.reshape(1, 1, 4, 6), 2, padding=3)", "F.avg_pool2d(@.reshape(1, 1, 4, 6), 2, padding=3)", "F.dropout(@, 1.5)",
    "@.view(5, 5)", "@.expand(3, 6)", "@ + torch.ones(5)", "@ @ @", "torch.cat([@, @[:, :2]])", "torch.stack([@, @[:2]])", "@.reshape(-1, 5)", "@.sum(3)", "@.transpose(0, 4)", "@.squeeze(5)", "@.unfold(0, 9, 1)", "@.topk(9)", "@.kthvalue(9)", "@[:0].max()", "@[:0].argmax()", "@[:, :0].amax(1)", "torch.zeros(0).median() if False else torch.zeros(0).min()", "@.long() // 0", "@.long() % 0", "torch.remainder(@.long(), 0)", "torch.fmod(@.long(), 0)",
    "@.long() ** -1", "torch.arange(0, 3, 0)", "torch.arange(3, 0, 1)", "torch.linspace(0, 1, -1)", "torch.full((-1,), 2.0)", "@.repeat(2)", "@.repeat(-1, 1)", "@.roll((1, 2), (0,))", "@.flip(0, 0)", "@.permute(0, 0)", "@.chunk(0)", "@.split(0)", "@.split([1, 1])", "@.narrow(0, 2, 5)", "@.select(0, 7)", "@.diagonal(dim1=0, dim2=0)", "torch.quantile(@, 1.5)", "torch.histc(@, 0)", "torch.bincount(-@.long() - 1)", "torch.bincount(@.long())",
    "F.hardshrink(@, 'x')", "F.softshrink(@, -1.0)", "F.softmax(@, 3)", "F.glu(@[:, :5])", "F.pixel_shuffle(@.reshape(1, 1, 4, 6), 2)", "F.pad(@, (9, 9), mode='reflect')", "F.pad(@, (-9, 0))", "F.interpolate(@.reshape(1, 1, 4, 6), scale_factor=0.1)", "F.interpolate(@.reshape(1, 1, 4, 6), size=(0, 2))", "F.group_norm(@.unsqueeze(0), 3)", "F.layer_norm(@, (5,))", "F.batch_norm(@[:1], None, None, training=True)", "F.instance_norm(@[:, :1].unsqueeze(0))",
    "F.adaptive_avg_pool2d(@.reshape(1, 1, 4, 6).long(), 0)", "F.huber_loss(@, @, delta=-1.0)", "F.smooth_l1_loss(@, @, beta=-1.0)", "F.margin_ranking_loss(@[0], @[1], torch.ones(5))", "F.poisson_nll_loss(@, @, reduction='bad')", "F.gaussian_nll_loss(@, @, -torch.ones(4, 6))", "F.multi_margin_loss(@, torch.tensor([9, 0, 0, 0]))", "torch.normal(@, -torch.ones(4, 6))", "@.clone().normal_(0, -1)", "@.clone().uniform_(2, 1)", "@.clone().exponential_(-1)",
    "@.clone().geometric_(2.0)", "@.clone().bernoulli_(1.5)", "@.clone().cauchy_(0, -1)", "@.clone().log_normal_(0, -1)", "torch.randint(5, 2, (3,))", "torch.poisson(-@ - 1)", "torch.randperm(-1)", "torch.renorm(@, 2, 0, -1.0)", "torch.renorm(@, -1, 0, 1.0)", "torch.cdist(@, @, p=-1)", "torch.clamp(@)", "torch.addmm(@, @, @)", "torch.bmm(@.unsqueeze(0), @.unsqueeze(0))", "torch.cross(@, @)", "torch.dot(@[0], @[:, 0])",
    "@.masked_scatter(torch.ones(4, 6, dtype=torch.bool), @[:1])", "@.index_add(0, torch.tensor([0]), @)", "@.index_copy(0, torch.tensor([0, 1]), @[:1])", "@.index_fill(0, torch.tensor([9]), 1.0)", "torch.take(@, torch.tensor([99]))", "@.put(torch.tensor([99]), torch.tensor([1.0]))", "@.bool() - @.bool()", "-@.bool()", "torch.add(@.bool(), @.bool(), alpha=2.5)", "@.long().add_(1.5)", "@.long().div_(2)", "@.int().mul_(2.5)",
    "@.long().copy_(@.unsqueeze(0).expand(2, 4, 6))", "torch.bitwise_and(@, 1)", "@ << 1", "~@", "@.long().mean()", "@.long().softmax(0)", "@.expand(4, 6).view(24).fill_diagonal_(0)", "torch.linalg.cholesky(-torch.eye(3))", "torch.linalg.inv(torch.zeros(2, 2))", "torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))", "torch.searchsorted(@[0], @[0], side='left', right=True)", "torch.tensor_split(@, (1, 2), 5)", "@.unflatten(1, (4, 2))",
)  # fmt: skip


@mutator("refused_arguments", "lost-validation", raises=True, compiles=False)
def refused_arguments(subject: Subject, draw: Draw) -> str | None:
    """One call whose arguments eager refuses; when eager takes it after all, it is an ordinary mutant."""
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 2)
    if found is None:
        return None
    site, v = found
    m = subject.fresh("m")
    subject.need("import torch.nn.functional as F")
    text = draw.choice(REFUSED)
    subject.insert(site, f"{m} = {shaped(v, (4, 6))}.abs() % 23\nrefused = {filled(text, m)}")
    subject.observe("refused")
    return filled(text, "x").split("(")[0][:40].strip()
