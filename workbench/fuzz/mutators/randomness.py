"""Random numbers that nobody uses, between ones that somebody does: a draw that is optimised away moves the stream of all that follow."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

DRAWS = pools.calls("draws")


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
