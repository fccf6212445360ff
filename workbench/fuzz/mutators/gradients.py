"""Gradients: detached parts, checkpoints, hooks, in-place writes on the way, custom functions, backward inside the call."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

SNIPPETS = pools.items("gradients")


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
    word, extra = draw.choice(
        [("twice", again), ("hook", ""), ("accumulate", again * 2), ("no_grad_between", "    with torch.no_grad():\n        fn(*inputs)\n")]
    )
    hook = "    for t in leaves:\n        t.register_hook(lambda g: g * 2)\n" if word == "hook" else ""
    subject.set_drive(
        "def loss(result):\n    total = torch.zeros(())\n    for i, t in enumerate(torch.utils._pytree.tree_leaves(result)):\n        if isinstance(t, torch.Tensor) and t.requires_grad and t.is_floating_point():\n"
        "            total = total + (t * (torch.arange(t.numel()).reshape(t.shape) % 5 + i)).sum()\n    return total\n\ndef drive(fn, inputs):\n"
        "    leaves = [t.detach().clone().requires_grad_() for t in inputs if isinstance(t, torch.Tensor) and t.is_floating_point()]\n    spare = iter(leaves)\n    inputs = [(next(spare) * 1 if isinstance(t, torch.Tensor) and t.is_floating_point() else t) for t in inputs]\n"
        f"{hook}    first = loss(fn(*inputs))\n    if first.requires_grad:\n        first.backward(retain_graph=True)\n{extra}    return first.detach(), [t.grad for t in leaves]\n"
    )
    return word
