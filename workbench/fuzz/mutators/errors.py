"""Calls that eager refuses. A compiler that decomposes an op and forgets its checks returns something instead."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.parameters import filled, shaped
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

REFUSED = pools.calls("refused")


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
