"""Operators with parameters at the edge of what they document. The pools are data: each entry is one call on a tensor of a given shape."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
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


POOLING = (
    "F.max_pool2d(@, 2, ceil_mode=True)", "F.max_pool2d(@, 3, 2, 1, ceil_mode=True)", "F.max_pool2d(@, 2, stride=3)", "F.max_pool2d(@, 2, dilation=2)", "F.max_pool2d(@, (2, 3), (1, 2), (1, 1), return_indices=True)", "F.max_pool2d(@.transpose(2, 3), 2, return_indices=True)",
    "F.avg_pool2d(@, 3, 2, 1, ceil_mode=True)", "F.avg_pool2d(@, 3, 2, 1, count_include_pad=False)", "F.avg_pool2d(@, 2, divisor_override=3)", "F.avg_pool2d(@, (3, 2), 2, (1, 0), True, False)", "F.avg_pool2d(@, 2, stride=1, padding=1, ceil_mode=True, count_include_pad=True)",
    "F.adaptive_avg_pool2d(@, (3, 2))", "F.adaptive_avg_pool2d(@, 1)", "F.adaptive_max_pool2d(@, (2, 3), return_indices=True)", "F.adaptive_max_pool2d(@, (None, 2))", "F.adaptive_avg_pool2d(@, (5, 7))", "F.lp_pool2d(@, 2, 2, ceil_mode=True)", "F.lp_pool2d(@, 1, 3, 2)",
    "F.avg_pool1d(@.flatten(2), 5, 3, 2, ceil_mode=True)", "F.max_pool1d(@.flatten(2), 4, 3, 1, ceil_mode=True)", "F.max_pool1d(@.flatten(2), 2, return_indices=True)", "F.adaptive_avg_pool1d(@.flatten(2), 7)", "F.adaptive_max_pool1d(@.flatten(2), 5)", "F.max_pool3d(@.unsqueeze(1), (1, 2, 2), ceil_mode=True)",
    "F.avg_pool3d(@.unsqueeze(1), (1, 2, 2), 1, (0, 1, 1), count_include_pad=False)", "F.fractional_max_pool2d(@, 2, output_size=(2, 2), _random_samples=torch.full((@.shape[0], @.shape[1], 2), 0.25))", "F.max_unpool2d(*F.max_pool2d(@, 2, return_indices=True), 2)", "F.max_pool2d(@.to(torch.int64), 2)", "F.max_pool2d(@.to(memory_format=torch.channels_last), 2, return_indices=True)",
    "F.max_pool2d(-@, 2, padding=1)", "F.avg_pool2d(@.to(memory_format=torch.channels_last), 2)", "F.adaptive_max_pool2d(@.permute(0, 1, 3, 2), (2, 2), return_indices=True)",
)  # fmt: skip


@mutator("pooling_parameters", "pooling-parameters")
def pooling_parameters(subject: Subject, draw: Draw) -> str | None:
    """Pooling with ceil_mode, padding, divisor_override, dilation, uneven sizes."""
    made = _base(subject, draw, draw.choice([(1, 2, 7, 6), (2, 1, 5, 5), (1, 1, 8, 9)]), "image")
    if made is None:
        return None
    _observe(subject, draw, POOLING, made[0], (3, 5))
    return "pool"


MATMUL = (
    "torch.addmm(torch.full((4,), float('nan')), @, @.t(), beta={b})", "torch.addmm(torch.ones(5, 5), @, @.t(), beta={b}, alpha={a})", "torch.addmm(torch.ones(5, 1), @ * float('inf'), @.t(), alpha={a})", "torch.addmm(torch.zeros(5), @ * float('nan'), @.t(), alpha={a}, beta={b})",
    "torch.baddbmm(torch.full((1, 5, 5), float('nan')), @.unsqueeze(0), @.t().unsqueeze(0), beta={b})", "torch.baddbmm(torch.ones(1, 5, 5), @.unsqueeze(0), @.t().unsqueeze(0), beta={b}, alpha={a})", "torch.addmv(torch.full((5,), float('nan')), @, @[0], beta={b})", "torch.addmv(torch.ones(5), @, @[0], alpha={a}, beta={b})",
    "torch.addr(torch.full((5, 4), float('nan')), @[:, 0], @[0], beta={b})", "torch.addr(torch.ones(5, 4), @[:, 0], @[0], beta={b}, alpha={a})", "torch.addbmm(torch.ones(5, 5), @.unsqueeze(0), @.t().unsqueeze(0), beta={b}, alpha={a})", "torch.addmm(torch.ones(5, 5), @, @.t(), beta={a}, alpha={b})",
    "torch.add(@, @ * float('nan'), alpha={a})", "torch.sub(@, @ * float('inf'), alpha={b})", "torch.addcmul(@, @ * float('nan'), @, value={a})", "torch.addcdiv(@, @, torch.zeros_like(@), value={b})", "torch.matmul(@[:1], @.t()[:, :1])", "@[:, :0] @ @.t()[:0]", "torch.mm(@[:1], @.t())", "torch.bmm(@.unsqueeze(0)[:, :1], @.t().unsqueeze(0))",
    "torch.nn.functional.linear(@, @, torch.arange(5.0))", "torch.nn.functional.linear(@, @[:1])", "torch.tensordot(@, @, dims=([1], [1]))", "torch.kron(@[:2], @[:1])", "torch.chain_matmul(@, @.t(), @)", "torch.linalg.multi_dot([@, @.t(), @])", "torch.einsum('ij,kj->ki', @, @)", "torch.einsum('ij->', @)", "torch.einsum('ii->i', @[:4])", "torch.inner(@, @)",
    "torch.addmm(torch.ones(5, 5, dtype=torch.int64), @.long(), @.t().long(), beta={b}, alpha={a})" , "torch.vdot(@[0], @[1])", "torch.outer(@[0], @[:, 0])", "(@.to(torch.int64) @ @.t().to(torch.int64))", "torch.addmm(torch.ones(()), @, @.t(), beta={b})", "torch.addmv(torch.tensor(float('nan')), @, @[0], beta={b})", "@.t().matmul(@[:, 0])", "@[0] @ @.t()",
)  # fmt: skip


@mutator("matmul_factors", "matmul-factors")
def matmul_factors(subject: Subject, draw: Draw) -> str | None:
    """alpha and beta of the addmm family at 0, 0.0 and others, with NaN where beta says it does not matter; single rows, empty inner sizes."""
    made = _base(subject, draw, (5, 4), "m")
    if made is None:
        return None
    a, b = draw.choice(["0", "0.0", "2", "-1", "0.5"]), draw.choice(["0", "0.0", "0", "1", "3"])
    pool = tuple(t.format(a=a if ".long()" not in t else a.split(".")[0], b=b if ".long()" not in t else b.split(".")[0]) for t in MATMUL if "beta=0" not in t)
    _observe(subject, draw, tuple(t.replace("torch.full((4,), float('nan'))", "torch.full((5,), float('nan'))") for t in pool), made[0], (3, 6))
    return f"alpha{a}.beta{b}"


REDUCTIONS = (
    "@.var(1, correction=0)", "@.var(1, correction=4)", "@.var((0, 1), correction=30)", "@.var(dim=-1, correction=2.5)", "torch.std_mean(@, 0, correction=0)", "torch.var_mean(@, (0, 1), keepdim=True)", "@.std(-2, unbiased=False)", "@.sum(())", "@.sum((0, 1))", "@.sum(-1, keepdim=True, dtype=torch.float64)", "@.sum(dim=None)",
    "@.mean((0, -1))", "@.prod(-1, keepdim=True)", "@.amax(())", "@.amax((0, 1))", "@.amin(-1, keepdim=True)", "@.argmax()", "@.argmax(-1, keepdim=True)", "@.argmin(-2)", "torch.logsumexp(@, (0, 1))", "@.norm(0)", "@.norm(1, -1)", "@.norm(float('inf'))", "@.norm(-float('inf'), 0)", "@.norm(3, (0, 1))", "@.norm(2.5)", "@.norm('fro')",
    "@.norm('nuc')", "torch.linalg.vector_norm(@, 0, 1)", "torch.linalg.vector_norm(@, 0.5)", "torch.linalg.matrix_norm(@, 1)", "torch.linalg.matrix_norm(@, -2)", "@.cumsum(-1, dtype=torch.float64)", "@.cumprod(-2)", "@.median(-1).indices", "@.nanmedian()", "@.mode(0)", "@.kthvalue(2, -1)", "@.topk(0).values", "@.topk(2, 0, largest=False)",
    "@.topk(3, sorted=True)", "torch.sort(@, dim=0, descending=True, stable=True)", "@.argsort(-2, descending=True)", "@.unique(return_inverse=True, return_counts=True)", "@.unique_consecutive(dim=0)", "@.quantile(0.5, 1)", "@.quantile(torch.tensor([0.1, 0.9]), 0, interpolation='lower')", "@.quantile(0.3, interpolation='nearest')", "@.nanquantile(0.5)", "torch.aminmax(@, dim=1, keepdim=True)",
    "torch.any(@ > 5, -1, keepdim=True)", "torch.all(@ > 0, (0, 1))", "torch.all(@ >= 0, ())", "@.nansum(-1)", "@.nanmean(0)", "torch.count_nonzero(@, (0, 1))", "torch.diff(@, n=2, dim=0)", "torch.diff(@, prepend=@[:, :1], append=@[:, -1:])", "torch.trapezoid(@, dx=0.5)", "torch.cumulative_trapezoid(@, dim=0)", "torch.logcumsumexp(@, -1)", "torch.cummax(@, -1)", "torch.cummin(@, 0)",
    "torch.cov(@)", "torch.cov(@, correction=0)", "torch.histc(@, 5, 0, 10)", "torch.bincount(@.flatten().long(), minlength=40)", "torch.trace(@)", "@.sum(0).softmax(-1)", "F.softmax(@, 0, dtype=torch.float64)", "F.log_softmax(@, -2)", "F.normalize(@, p=1, dim=0)", "F.normalize(@, p=0)", "F.cosine_similarity(@, @ + 1, dim=0)", "F.pairwise_distance(@, @ + 1, p=1)", "torch.cdist(@, @ + 1, p=0)", "torch.cdist(@, @ + 1, p=float('inf'))",
    "torch.dist(@, @ + 2, 0)", "torch.renorm(@, 2, 0, 3.0)", "torch.renorm(@, 1, -1, 1.0)",
)  # fmt: skip


@mutator("reduction_parameters", "reduction-parameters")
def reduction_parameters(subject: Subject, draw: Draw) -> str | None:
    """Reductions with empty or negative dims, correction at or above n, unusual norms, dtype."""
    made = _base(subject, draw, draw.choice([(5, 6), (3, 17), (4, 4)]), "m")
    if made is None:
        return None
    _observe(subject, draw, REDUCTIONS, made[0])
    return "reductions"


SHAPES = (
    "F.pad(@, (-1, 2))", "F.pad(@, (1, 1, -1, 0), value=3)", "F.pad(@, (2, 1), mode='reflect')", "F.pad(@, (1, 2), mode='replicate')", "F.pad(@, (2, 2), mode='circular')", "F.pad(@, (0, 0, 1, 0))", "@.roll((1, -1), (0, 1))", "@.roll(7)", "@.roll(-9, 1)", "torch.rot90(@, -1)", "torch.rot90(@, 3, (1, 0))", "@.diagonal(2)", "@.diagonal(-2)", "torch.diag(@[0], 1)",
    "torch.diag(@, -1)", "torch.diag_embed(@, 1, 0, 2)", "torch.diagflat(@[0], -2)", "@.tril(2)", "@.triu(-3)", "@.tril(-9)", "torch.tril_indices(3, 5, 1)", "torch.triu_indices(4, 3, -1)", "torch.vander(@[0], 3, True)", "@.unfold(1, 3, 2)", "@.unfold(-1, @.shape[1], 1)", "F.unfold(@.unsqueeze(0).unsqueeze(0), 2, dilation=2)", "F.fold(F.unfold(@.unsqueeze(0).unsqueeze(0), 2), @.shape, 2)",
    "torch.repeat_interleave(@, torch.tensor([2, 0, 1, 1]), dim=0)", "@.repeat_interleave(2)", "@.repeat(1, 2, 1)", "torch.tile(@, (2,))", "@.split([1, 0, 3])", "@.tensor_split((1, 3), 1)", "@.tensor_split(3)", "@.chunk(3, 1)", "torch.cartesian_prod(@[0, :2], @[1, :3])", "torch.combinations(@[0], 2)", "torch.block_diag(@[:2], @[2:])", "torch.meshgrid(@[0], @[1], indexing='xy')", "torch.broadcast_to(@[:1], (3, @.shape[1]))",
    "torch.take(@, torch.tensor([0, -1, 3]))", "@.take_along_dim(@.argsort(1), 1)", "@.index_select(-1, torch.tensor([2, 2, 0]))", "@.gather(-1, torch.tensor([[0, 2]]))", "@[:, [0, -1]]", "@[[0, 1], [2, 0]]", "@[..., None, :2]", "@[torch.tensor([True, False, True, False])]", "@[None, -1]", "@.movedim((0, 1), (1, 0))", "@.unflatten(1, (-1, 2))", "@.swapaxes(-1, -2).reshape(-1)",
    "F.pixel_shuffle(@.reshape(4, 2, -1)[:, :2, :2].contiguous(), 2)", "F.glu(@, 0)", "F.glu(@)", "F.channel_shuffle(@.reshape(1, 4, -1, 1), 2)", "torch.stack((@, @), -1)", "torch.hstack((@, @))", "torch.dstack((@, @))", "torch.column_stack((@[:, 0], @))", "torch.vstack((@[0], @))", "torch.linspace(0, 5, 1)", "torch.linspace(3, -2, 6)", "torch.logspace(0, 3, 4)", "torch.arange(0.5, 3, 0.75)", "torch.arange(5, 0, -2)", "torch.eye(3, 5)",
    "torch.flip(@, (0, -1))", "@.flipud().fliplr()", "torch.searchsorted(@[0].sort().values, @)", "torch.searchsorted(@[0].sort().values, @, side='right')", "torch.bucketize(@, torch.tensor([1.0, 3.0, 7.0]), right=True)", "F.one_hot(@.long() % 5, 6)", "F.one_hot(@.long() % 3)", "torch.nonzero(@ > 4, as_tuple=True)", "torch.argwhere(@ > 9)", "torch.masked_select(@, @ % 2 == 0)",
)  # fmt: skip


@mutator("shape_parameters", "shape-parameters")
def shape_parameters(subject: Subject, draw: Draw) -> str | None:
    """Shifts beyond the size, negative pads, far diagonals, empty splits, negative and repeated indices."""
    made = _base(subject, draw, (4, 6), "m")
    if made is None:
        return None
    _observe(subject, draw, SHAPES, made[0])
    return "shapes"


SCATTERS = (
    "@.scatter_reduce(0, {i}, @ + 2, 'amax', include_self=False)", "@.scatter_reduce(0, {i}, @ + 2, 'sum', include_self=False)", "@.scatter_reduce(0, {i}, @ + 2, 'prod')", "@.scatter_reduce(0, {i}, @ * 2, 'mean', include_self=False)", "@.scatter_reduce(1, {i} % 3, @, 'amin', include_self=True)", "@.scatter_add(0, {i}, @)", "@.scatter_add(1, {i} % 5, @)",
    "@.scatter(0, {i}[:1], 7.0)", "@.scatter(0, {i}[:1], 2.0, reduce='multiply')", "@.scatter(0, {i}[:1], @ + 1, reduce='add')", "@.index_add(0, torch.tensor([0, 2]), @[:2], alpha=3)", "@.index_add(1, torch.tensor([1, 1]), @[:, :2])", "@.index_reduce(0, torch.tensor([1, 1]), @[:2], 'amax', include_self=False)", "@.index_reduce(0, torch.tensor([0, 3]), @[:2], 'mean')", "@.index_fill(-1, torch.tensor([0, 5]), -1)",
    "@.index_put((torch.tensor([0, 0]),), torch.ones(6), accumulate=True)", "@.index_put((torch.tensor([1, 3]), torch.tensor([2, 0])), torch.tensor(9.0))", "@.index_copy(1, torch.tensor([5, 0]), @[:, :2])", "@.masked_scatter(@ > 4, @.flatten().flip(0))", "@.masked_fill(@ % 2 == 0, float('inf'))", "torch.slice_scatter(@, @[:2] * 2, 0, 1, 3)", "torch.slice_scatter(@, @[:, :2] * 3, 1, 0, 6, 3)", "torch.select_scatter(@, @[0] * 5, 0, -1)",
    "torch.diagonal_scatter(@, torch.ones(4), 1)", "torch.as_strided_scatter(@, @[0, :3] * 2, (3,), (7,))", "torch.put(@, torch.tensor([0, -1]), torch.tensor([5.0, 6.0]))", "@.put(torch.tensor([3, 3]), torch.tensor([5.0, 6.0]), accumulate=True)", "F.embedding(@.long() % 4, @, padding_idx=0)", "F.embedding(@.long()[:2] % 4, @, max_norm=2.0) * 0", "F.embedding_bag(@.long()[:2] % 4, @, mode='max')", "F.embedding_bag(@.long().flatten()[:6] % 4, @, torch.tensor([0, 2, 2]), mode='sum')",
    "F.embedding_bag(@.long().flatten()[:6] % 4, @, torch.tensor([0, 3]), mode='mean', include_last_offset=False)", "F.embedding_bag(@.long()[:2, :3] % 4, @, mode='sum', per_sample_weights=@[:2, :3])", "torch.zeros(3).index_put((@.long().flatten() % 3,), torch.ones(()), accumulate=True)", "torch.segment_reduce(@[0], 'sum', lengths=torch.tensor([2, 4]))", "torch.scatter(torch.zeros(7, 6), 0, {i}, @)", "torch.gather(@, 1, {i} % 6)", "torch.bincount(@.long().flatten() % 9, @.flatten())",
)  # fmt: skip


@mutator("scatter_parameters", "scatter-parameters")
def scatter_parameters(subject: Subject, draw: Draw) -> str | None:
    """Scatter, index and embedding ops with include_self, accumulate, padding_idx, negative and repeated indices where order cannot matter."""
    made = _base(subject, draw, (4, 6), "m")
    if made is None:
        return None
    index = "((torch.arange(24).reshape(4, 6) + 1) % 4)"
    _observe(subject, draw, tuple(t.replace("{i}", index) for t in SCATTERS), made[0], (3, 6))
    return "scatters"


ACTIVATIONS = (
    "F.softplus(@, beta=2, threshold=3)", "F.softplus(@, -1.0)", "F.hardtanh(@, -2, 5)", "F.leaky_relu(@, 0)", "F.leaky_relu(@, -2.0)", "F.elu(@ - 5, alpha=-1.0)", "F.celu(@ - 5, alpha=-0.5)", "F.celu(@ - 5, 1e-8)", "F.selu(@ - 5)", "F.prelu(@, torch.tensor([0.5]))", "F.rrelu(@ - 5, 0.25, 0.25)", "F.threshold(@, 3, -1)", "F.hardshrink(@ - 4, 0)", "F.softshrink(@ - 4, 0)",
    "F.hardshrink(@ - 4, -1)", "F.gelu(@ - 4, approximate='tanh')", "F.logsigmoid(@ - 4)", "F.hardsigmoid(@ - 3)", "F.softsign(@ - 3)", "F.tanhshrink(@ - 3)", "F.mish(@ - 3)", "F.relu6(@)", "torch.clamp(@, 5, 2)", "torch.clamp(@, max=torch.tensor(3.0))", "torch.clamp(@, @ - 1, @ - 2)", "@.round(decimals=-1)", "(@ / 8).round(decimals=2)", "torch.div(@ - 7, 3, rounding_mode='floor')", "torch.div(@ - 7, -3, rounding_mode='trunc')",
    "torch.remainder(@ - 7, -3)", "torch.fmod(@ - 7, -3)", "(@ - 7) // -2", "(@ - 7) % -2.5", "torch.nan_to_num(@ / 0, nan=1, posinf=2)", "F.smooth_l1_loss(@, @ + 1, beta=0.0)", "F.smooth_l1_loss(@, @ * 2, reduction='sum', beta=3)", "F.huber_loss(@, @ + 3, delta=0.5)", "F.l1_loss(@, @ + 1, reduction='none')", "F.mse_loss(@, @.flip(0), reduction='sum')", "F.kl_div(-@, @ * 0 + 1, reduction='batchmean')", "F.kl_div(-@, -@, log_target=True, reduction='sum')",
    "F.nll_loss(-@, torch.tensor([0, 1, -100, 2]))", "F.nll_loss(-@, torch.tensor([0, 1, 3, 2]), ignore_index=1, reduction='sum')", "F.cross_entropy(@, torch.tensor([0, -100, -100, -100]))", "F.cross_entropy(@, torch.tensor([0, 1, 2, 3]), weight=torch.arange(6.0), label_smoothing=0.5)", "F.cross_entropy(@, @.softmax(1), reduction='sum')", "F.margin_ranking_loss(@[0], @[1], torch.ones(6), margin=2)", "F.hinge_embedding_loss(@, torch.ones(4, 6) * -1, margin=5)",
    "F.triplet_margin_loss(@, @ + 1, @ - 3, p=1)", "F.cosine_embedding_loss(@, @ + 1, torch.tensor([1, -1, 1, -1]), margin=0.25)", "F.multi_margin_loss(@, torch.tensor([0, 1, 2, 3]), p=2)", "F.multilabel_margin_loss(@, torch.tensor([[0, 1, -1, 0, 0, 0]] * 4))", "F.soft_margin_loss(@ - 5, torch.ones(4, 6))", "F.poisson_nll_loss(@, @ + 1, log_input=False, full=True)", "F.gaussian_nll_loss(@, @ + 1, torch.ones(4, 6), full=True)",
    "F.binary_cross_entropy(@.abs() / 1000, @.abs() / 500)", "F.layer_norm(@, (6,), eps=1e-30)", "F.layer_norm(@, (4, 6))", "F.batch_norm(@, torch.zeros(6), torch.ones(6), training=False, eps=1.0)", "F.batch_norm(@, None, None, training=True, momentum=0.0)", "F.instance_norm(@.unsqueeze(0), eps=1.0)", "F.group_norm(@.unsqueeze(0), 4, eps=1.0)", "F.local_response_norm(@.unsqueeze(0), 3)", "F.rms_norm(@, (6,))", "F.rms_norm(@, (6,), eps=0.0)",
    "torch.lerp(@, @ + 4, 2.0)", "torch.lerp(@, @ + 4, -1)", "torch.addcdiv(@, @, @ + 1, value=-2)", "torch.heaviside(@ - 3, torch.tensor(0.5))", "torch.copysign(@, torch.tensor(-0.0))", "torch.ldexp(@, torch.tensor([-2]))", "torch.float_power(@, -1)", "torch.logit(@ / 30, eps=0.2)", "torch.polygamma(1, @ + 1)", "torch.mvlgamma(@ + 3, 2)", "torch.special.zeta(@ + 2, 1.0)", "torch.gradient(@[0])[0]", "torch.gradient(@, spacing=2.0, dim=1)[0]",
    "F.grid_sample(@.reshape(1, 1, 4, 6), torch.zeros(1, 2, 2, 2), align_corners=True)", "F.grid_sample(@.reshape(1, 1, 4, 6), torch.full((1, 2, 2, 2), 1.5), padding_mode='reflection', align_corners=False)", "F.grid_sample(@.reshape(1, 1, 4, 6), torch.full((1, 2, 2, 2), -1.0), mode='nearest', padding_mode='border', align_corners=False)", "F.affine_grid(torch.eye(2, 3).unsqueeze(0), (1, 1, 2, 3), align_corners=True)", "F.conv1d(@.unsqueeze(0), @[:2, :4].reshape(2, 4, 1), stride=2)",
    "F.conv1d(@.unsqueeze(0), torch.ones(4, 1, 3), groups=4, padding='same')", "F.conv1d(@.unsqueeze(0), torch.ones(2, 4, 2), dilation=3, padding=1)", "F.conv_transpose1d(@.unsqueeze(0), torch.ones(4, 2, 3), stride=2, padding=1, output_padding=1)", "F.conv2d(@.reshape(1, 1, 4, 6), torch.ones(1, 1, 2, 2), padding='valid', stride=(2, 3))", "F.conv_transpose2d(@.reshape(1, 1, 4, 6), torch.ones(1, 2, 2, 2), dilation=2)", "F.conv_tbc(@.reshape(4, 1, 6), torch.ones(2, 6, 3), torch.zeros(3), 1)",
)  # fmt: skip


@mutator("function_parameters", "function-parameters")
def function_parameters(subject: Subject, draw: Draw) -> str | None:
    """Activations, losses, norms, convolutions with negative slopes, zero lambdas, crossed bounds, ignored indices."""
    made = _base(subject, draw, (4, 6), "m")
    if made is None:
        return None
    _observe(subject, draw, ACTIVATIONS, made[0])
    return "functions"
