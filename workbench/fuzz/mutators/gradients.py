"""Gradients: detached parts, checkpoints, hooks, in-place writes on the way, custom functions, backward inside the call."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

SNIPPETS = (
    ("detach_branch", "{r} = {v} * 2 + {v}.detach() * 3"), ("straight_through", "{r} = {v} + ({v}.round() - {v}).detach()"), ("no_grad_part", "with torch.no_grad():\n    scale = {v}.amax()\n{r} = {v} * scale"), ("clamp", "{r} = {v}.clamp(-1, 3) * 2"), ("max_ties", "{r} = {v}.amax(0) + {v}.amin(0)"),
    ("in_place_middle", "mid = {v} * 2\nmid.add_(1)\nmid.mul_({v})\n{r} = mid"), ("in_place_view", "mid = {v} * 2\nmid[:1].mul_(3)\n{r} = mid * 1"), ("setitem", "mid = {v} * 1\nmid[0] = {v}[-1] * 5\n{r} = mid"), ("index_put", "mid = torch.zeros_like({v})\nmid[torch.arange({v}.shape[0] - 1, -1, -1)] = {v}\n{r} = mid * 2"),
    ("copy_slice", "mid = torch.zeros_like({v})\nmid[:1].copy_({v}[:1] * 4)\n{r} = mid"), ("cat_self", "{r} = torch.cat([{v}, {v} * 2, {v}[:1]])"), ("stack_unbind", "{r} = torch.stack([t * i for i, t in enumerate({v}.unbind(0))])"), ("expand_sum", "{r} = {v}.unsqueeze(0).expand(3, *{v}.shape).sum(0)"),
    ("gather", "{r} = {v}.gather(0, torch.zeros_like({v}, dtype=torch.long))"), ("scatter_add", "{r} = torch.zeros_like({v}).scatter_add(0, torch.zeros_like({v}, dtype=torch.long), {v})"), ("where", "{r} = torch.where({v} > 1, {v} * 2, {v} * 3)"), ("masked", "{r} = {v}.masked_fill({v} > 2, 0.0) * 2"), ("abs_sign", "{r} = {v}.abs() + {v}.relu()"),
    ("prod", "{r} = ({v} * 0 + 2).prod(0) * {v}"), ("cumsum", "{r} = {v}.cumsum(0).flip(0)"), ("sort", "{r} = {v}.sort(0, descending=True).values * torch.arange(1.0, {v}.shape[0] + 1).reshape(-1, *[1] * ({v}.dim() - 1))"), ("roll", "{r} = {v}.roll(1, 0) * {v}"), ("hook", "mid = {v} * 1\nif mid.requires_grad:\n    mid.register_hook(lambda g: g * 2)\n{r} = mid * 3"),
    ("checkpoint", "from torch.utils.checkpoint import checkpoint\n{r} = checkpoint(lambda x: x * x + 1, {v}, use_reentrant=False)"), ("custom", "class Triple(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * 3\n    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_tensors\n        return g * 3 + x * 0\n{r} = Triple.apply({v})"),
    ("custom_setup", "class Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(x, k):\n        return x * k\n    @staticmethod\n    def setup_context(ctx, inputs, output):\n        ctx.k = inputs[1]\n    @staticmethod\n    def backward(ctx, g):\n        return g * ctx.k, None\n{r} = Scale.apply({v}, 4)"), ("autocast_off", "with torch.autocast('cpu', enabled=False):\n    {r} = {v}.float() * 2"),
    ("autocast_matmul", "with torch.autocast('cpu', dtype=torch.bfloat16):\n    half = {v}.reshape({v}.shape[0], -1) @ torch.ones({v}.reshape({v}.shape[0], -1).shape[1], 2)\n    with torch.autocast('cpu', enabled=False):\n        {r} = {v} * half.float().sum()"), ("retain_grad", "mid = {v} * 2\nif mid.requires_grad:\n    mid.retain_grad()\n{r} = mid * 3"), ("double_use", "a = {v} * 2\n{r} = a * a + a"),
    ("func_grad", "{r} = torch.func.grad(lambda x: (x * x * x).sum())({v}) + {v}"), ("autograd_grad", "leaf = {v}.detach().clone().requires_grad_()\n(g,) = torch.autograd.grad((leaf * leaf).sum(), leaf)\n{r} = g + {v}"), ("inner_backward", "leaf = {v}.detach().clone().requires_grad_()\n(leaf * leaf * 2).sum().backward()\n{r} = leaf.grad + {v} * 2"), ("pad", "{r} = torch.nn.functional.pad({v}, (1, 2), value=3.0) * 2"),
    ("interpolate", "{r} = torch.nn.functional.interpolate({v}.reshape(1, 1, -1), scale_factor=1.5, mode='nearest')"), ("interpolate2d", "{r} = torch.nn.functional.interpolate({v}.reshape(1, 1, -1, 1), size=(5, 2), mode='bilinear')"), ("max_pool", "{r} = torch.nn.functional.max_pool1d({v}.reshape(1, 1, -1), 2, ceil_mode=True)"), ("avg_pool", "{r} = torch.nn.functional.avg_pool1d({v}.reshape(1, 1, -1), 2, ceil_mode=True, padding=1)"), ("unfold", "{r} = {v}.reshape(-1).unfold(0, 2, 1).sum(1)"),
    ("as_strided", "{r} = {v}.contiguous().as_strided((2, 2), (1, 1)) * 2"), ("slice_scatter", "{r} = torch.slice_scatter({v}, {v}[:1] * 3, 0, 0, 1)"), ("select_scatter", "{r} = torch.select_scatter({v}, {v}[0] * 2, 0, -1)"), ("diagonal_scatter", "sq = {v}.reshape(-1)[:4].reshape(2, 2)\n{r} = torch.diagonal_scatter(sq, sq[0] * 2)"), ("index_select", "{r} = {v}.index_select(0, torch.tensor([0, 0])) * 2"), ("embedding", "{r} = torch.nn.functional.embedding(torch.tensor([0, 1, 0]), {v}.reshape(-1, 1)[:2], padding_idx=1)"),
    ("norm", "{r} = torch.nn.functional.layer_norm({v}, {v}.shape[-1:]) * 1"), ("logsumexp", "{r} = {v}.logsumexp(0) + {v}.softmax(0)"), ("var", "{r} = {v}.var(0, correction=0) + {v}.mean(0)"), ("norm_zero", "{r} = ({v} * 0).norm() + {v}"), ("sqrt_zero", "{r} = ({v} * 0).abs().sqrt() * 0 + {v}"), ("pow_zero", "{r} = {v} ** 0 + {v} ** 1 + {v} ** 2"), ("mul_zero", "{r} = {v} * 0 + {v}.detach()"), ("unused", "{r} = ({v} * 3)[:0].sum() + {v}"), ("complex_parts", "{r} = torch.complex({v}, {v} * 2).imag + torch.complex({v}, {v}).abs() * 0"), ("cdist", "{r} = torch.cdist({v}.reshape(-1, 1), {v}.reshape(-1, 1)[:2] + 1, p=1)"),
    ("median", "{r} = {v}.median() + {v}.kthvalue(1, 0).values"), ("maximum_ties", "{r} = torch.maximum({v}, {v}) + torch.minimum({v}, {v} * 1)"), ("clamp_tensor", "{r} = torch.clamp({v}, torch.tensor(0.0), {v} * 2)"), ("lerp", "{r} = torch.lerp({v}, {v} * 2, 0.25)"), ("addcmul", "{r} = torch.addcmul({v}, {v}, {v}, value=0.5)"), ("trunc", "{r} = {v}.trunc() + {v}.frac() + {v} % 2"), ("repeat", "{r} = {v}.repeat_interleave(2, 0) + 1"), ("flip", "{r} = {v}.flip(0) * {v}"), ("view_as_real", "{r} = torch.view_as_real(torch.complex({v}, {v})) * 2"), ("vmap", "{r} = torch.vmap(lambda x: x * 2)({v})"),
)  # fmt: skip


def _fits(v: Value) -> bool:
    return v.dtype == "float32" and v.rank >= 1 and v.shape[0] >= 2


@mutator("gradient_path", "gradient-paths")
def gradient_path(subject: Subject, draw: Draw) -> str | None:
    """A detour that gradients have to follow exactly; gradients of all inputs are compared."""
    found = subject.pick(draw, _fits)
    if found is None:
        return None
    site, v = found
    words = []
    for word, code in draw.sample(SNIPPETS, draw.whole(1, 3)):
        r = subject.fresh("branch")
        subject.insert(site, code.format(v=v.name, r=r))
        subject.observe(r)
        words.append(word)
    subject.configure(grad=True)
    return "+".join(words)


@mutator("backward_inside_drive", "gradient-paths")
def backward_inside_drive(subject: Subject, draw: Draw) -> str | None:
    """The caller runs backward itself, twice, with hooks or accumulated gradients."""
    if subject.drive is not None:
        return None
    values = [v for v in subject.values if v.position is not None and v.dtype == "float32" and v.rank >= 1 and v.kind == "Tensor"]
    if not values:
        return None
    again = "    again = loss(fn(*inputs))\n    if again.requires_grad:\n        again.backward(retain_graph=True)\n"
    word, extra = draw.choice([("twice", again), ("hook", ""), ("accumulate", again * 2), ("no_grad_between", "    with torch.no_grad():\n        fn(*inputs)\n")])
    hook = "    for t in leaves:\n        t.register_hook(lambda g: g * 2)\n" if word == "hook" else ""
    subject.set_drive(
        "def loss(result):\n    total = torch.zeros(())\n    for i, t in enumerate(torch.utils._pytree.tree_leaves(result)):\n        if isinstance(t, torch.Tensor) and t.requires_grad and t.is_floating_point():\n"
        "            total = total + (t * (torch.arange(t.numel()).reshape(t.shape) % 5 + i)).sum()\n    return total\n\ndef drive(fn, inputs):\n"
        "    leaves = [t.detach().clone().requires_grad_() for t in inputs if isinstance(t, torch.Tensor) and t.is_floating_point()]\n    spare = iter(leaves)\n    inputs = [(next(spare) * 1 if isinstance(t, torch.Tensor) and t.is_floating_point() else t) for t in inputs]\n"
        f"{hook}    first = loss(fn(*inputs))\n    if first.requires_grad:\n        first.backward(retain_graph=True)\n{extra}    return first.detach(), [t.grad for t in leaves]\n"
    )
    return word
