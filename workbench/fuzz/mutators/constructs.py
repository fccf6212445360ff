"""Python around tensors: containers, closures, generators, exceptions, context managers. The pools are data: setup, body, what is observed.

``{v}`` is a tensor of the program, ``{r}`` a fresh name for the result.
"""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

Construct = tuple[str, ...]

CONTAINERS = pools.items("containers")
FLOW = pools.items("flow")


def plant(subject: Subject, draw: Draw, pool: tuple[Construct, ...], most: int = 2) -> str | None:
    """Insert some of a pool's constructs at one site and observe them."""
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 3 and v.dtype not in ("uint8",))
    if found is None:
        return None
    site, v = found
    words = []
    for word, code, seen in draw.sample(pool, draw.whole(1, most)):
        r = subject.fresh("made")
        subject.insert(site, code.format(v=v.name, r=r))
        subject.observe(seen.format(v=v.name, r=r))
        words.append(word)
    return "+".join(words)


@mutator("python_containers", "python-containers", compiles=False)
def python_containers(subject: Subject, draw: Draw) -> str | None:
    """Lists, dicts, sets, iterators with aliases, in-place growth, order."""
    return plant(subject, draw, CONTAINERS, 3)


@mutator("python_flow", "python-control-flow", compiles=False)
def python_flow(subject: Subject, draw: Draw) -> str | None:
    """Closures, generators, exceptions, context managers, graph breaks."""
    return plant(subject, draw, FLOW)


@mutator("enclosing_state", "enclosing-state", compiles=False)
def enclosing_state(subject: Subject, draw: Draw) -> str | None:
    """State in the module around the callable, changed by a helper, a local class or a generator inside it; read after the call."""
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 1)
    if found is None or subject.drive is not None:
        return None
    site, v = found
    word, setup, code, state = draw.choice(ENCLOSING)
    r = subject.fresh("made")
    subject.define(setup)
    subject.insert(site, code.format(v=v.name, r=r))
    subject.observe(r)
    calls = draw.whole(1, 2)
    lines = "".join(f"    result{i} = fn(*[t.clone() if isinstance(t, torch.Tensor) else t for t in inputs])\n" for i in range(calls))
    subject.set_drive(f"def drive(fn, inputs):\n{lines}    return {', '.join(f'result{i}' for i in range(calls))}, {state}\n")
    return f"{word}{'.second' if calls > 1 else ''}"


ENCLOSING = pools.items("enclosing")
