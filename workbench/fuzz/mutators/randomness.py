"""Random numbers that nobody uses, between ones that somebody does: a draw that is optimised away moves the stream of all that follow."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

DRAWS = (
    "torch.rand(3)", "torch.randn(2, 2)", "torch.randint(0, 9, (3,))", "torch.randperm(5)", "torch.normal(0.0, 1.0, (2,))", "torch.rand_like({x})", "torch.randn_like({x})", "torch.randint_like({x}, 5)", "{x}.clone().normal_()", "{x}.clone().uniform_()", "{x}.clone().bernoulli_(0.5)", "{x}.clone().exponential_()", "{x}.clone().random_(0, 9)", "{x}.clone().geometric_(0.5)",
    "{x}.clone().cauchy_()", "{x}.clone().log_normal_()", "torch.bernoulli(torch.full((3,), 0.5))", "torch.multinomial(torch.ones(4), 2)", "torch.multinomial(torch.ones(4), 5, replacement=True)", "torch.poisson(torch.full((3,), 2.0))", "F.dropout({x}, 0.5, True)", "F.dropout({x}, 0.0, True)", "F.dropout({x}, 1.0, True)", "F.alpha_dropout({x}, 0.5, True)", "F.feature_alpha_dropout({x}.reshape(1, -1, 1), 0.5, True)",
    "F.rrelu({x}, 0.1, 0.3, True)", "F.gumbel_softmax({x}.flatten(), hard=True)", "torch.binomial(torch.full((2,), 5.0), torch.full((2,), 0.5))", "F.dropout1d({x}.reshape(1, -1, 1), 0.5, True)", "torch.empty(3).uniform_(1, 2)", "torch.empty(2, dtype=torch.int64).random_(7)", "torch.nn.init.xavier_uniform_(torch.empty(2, 3))", "torch.rand(0)", "torch.rand(3, dtype=torch.float64)", "torch.rand(2, generator=None)",
    "torch.distributions.Normal(0.0, 1.0).sample((2,))", "torch.nn.Dropout(0.3)({x})", "torch.bernoulli({x} * 0, 0.3)", "torch.randn(3, dtype=torch.complex64).real", "torch.standard_gamma(torch.full((2,), 2.0)) if hasattr(torch, 'standard_gamma') else torch._standard_gamma(torch.full((2,), 2.0))",
)  # fmt: skip


@mutator("dead_random_draws", "dead-random-draws")
def dead_random_draws(subject: Subject, draw: Draw) -> str | None:
    """Draws whose result nobody reads, in between draws that are returned; the generator's state afterwards counts too."""
    found = subject.pick(draw, lambda v: v.dtype == "float32" and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    subject.need("import torch.nn.functional as F")
    subject.configure(inductor={"fallback_random": True})
    x = subject.fresh("x0")
    lines = [f"{x} = {v.name}.detach()"]
    dead = draw.choice(DRAWS)
    kept: list[str] = []
    for _ in range(draw.whole(1, 3)):
        text = draw.choice(DRAWS) if kept else dead
        lines.append(text.format(x=x) if draw.chance(0.7) else f"{subject.fresh('unused')} = {text.format(x=x)}")
        name = subject.fresh("drawn")
        lines.append(f"{name} = {draw.choice(DRAWS if draw.chance(0.5) else ('torch.rand(2)',)).format(x=x)}")
        kept.append(name)
    if draw.chance(0.3):
        lines.append(draw.choice(DRAWS).format(x=x))
    subject.insert(site, "\n".join(lines))
    subject.observe(*kept)
    return dead.split("(")[0].replace("{x}.clone().", "").removeprefix("torch.").removeprefix("F.")


@mutator("seeded_inside", "dead-random-draws")
def seeded_inside(subject: Subject, draw: Draw) -> str | None:
    """Generator state saved, set or forked around draws inside the program."""
    found = subject.pick(draw, lambda v: v.dtype == "float32" and v.rank >= 1)
    if found is None:
        return None
    site, v = found
    subject.configure(inductor={"fallback_random": True})
    a, b, g = (subject.fresh(n) for n in ("first", "second", "state"))
    word, text = draw.choice(
        [
            ("manual_seed", f"torch.manual_seed(3)\n{a} = torch.rand(2)\n{b} = torch.rand(2)"),
            ("state", f"{g} = torch.get_rng_state()\n{a} = torch.rand(2)\ntorch.set_rng_state({g})\n{b} = torch.rand(2)"),
            ("fork", f"with torch.random.fork_rng():\n    {a} = torch.rand(2)\n{b} = torch.rand(2)"),
            ("generator", f"{g} = torch.Generator().manual_seed(7)\n{a} = torch.rand(2, generator={g})\n{b} = torch.rand(2)"),
            ("seed_twice", f"torch.manual_seed(5)\n{a} = {v.name} + torch.rand(1)\ntorch.manual_seed(5)\n{b} = {v.name} + torch.rand(1)"),
            ("branch", f"{a} = torch.rand(2)\n{b} = torch.rand(2) if {v.shape[0]} > 2 else torch.randn(2)"),
            ("python", f"import random\n{a} = {v.name} * random.random()\n{b} = {v.name} + random.randint(0, 9)"),
            ("initial", f"{a} = torch.initial_seed()\n{b} = torch.rand(2)"),
        ]
    )
    subject.insert(site, text)
    subject.observe(a, b)
    return word
