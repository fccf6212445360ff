"""The guilty pass: which subsystem of the failing stage, switched off, hides the difference, and which of its applications does.

Our own use of ``torch._inductor.compiler_bisector``'s switches inside children with private caches; its command line is never run, since
it deletes a whole cache folder and leaves state that other compiles obey. "No pass" is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from store.records import LADDER, Stage
from workbench.oracle.explain import Patches
from workbench.oracle.observation import Observation
from workbench.oracle.runs import Runs, UndecidedError

HUGE = 1_000_000
"""More applications than any compile makes: lets all through and so reads how many there are."""

APPLICATIONS: dict[Stage, tuple[str, ...]] = {
    Stage.DECOMPOSITION: ("decomposition",),
    Stage.INDUCTOR: ("pre_grad_passes", "joint_graph_passes", "post_grad_passes", "lowerings"),
}
"""Subsystems that count their applications, cheapest to blame first."""
SWITCHES: dict[Stage, tuple[tuple[str, str, object], ...]] = {
    Stage.DECOMPOSITION: (),
    Stage.INDUCTOR: (
        ("layout_optimization", "inductor", False),
        ("comprehensive_padding", "inductor", False),
        ("epilogue_fusion", "inductor", False),
    ),
}
"""Subsystems that are one configuration change."""

Shows = Callable[[Observation], bool]


@dataclass(frozen=True, slots=True)
class Guilty:
    """What the bisector blames.

    name:   ``lowerings aten.copy``, ``post_grad_passes remove_noop_ops``, a configuration switch, or None for no pass
    replay: environment to put before a command: the guilty application is the last that is let through (``MAX=-1``: none is), or the
            guilty switch is set the other way for every graph; empty for no pass
    """

    name: str | None = None
    replay: str = ""


def guilty(runs: Runs, stage: Stage, shows: Shows, patches: Patches) -> Guilty:
    """The first subsystem of the stage whose absence hides the difference; bisected down to one application where it counts them."""
    backend = LADDER[stage]
    for subsystem in APPLICATIONS.get(stage, ()):
        try:
            if _shows_with(runs, backend, subsystem, -1, shows, patches):
                continue
            return _application(runs, backend, subsystem, shows, patches)
        except UndecidedError:
            continue
    for name, table, value in SWITCHES.get(stage, ()):
        try:
            changed = {**patches, table: {**patches.get(table, {}), name: value}}
            observed = runs.compiled(backend, changed)
        except UndecidedError:
            continue
        if observed.outcome == "returned" and not shows(observed):
            return Guilty(f"{table}.{name}", f"TORCH_COMPILE_OVERRIDE_INDUCTOR_CONFIGS='>=0:{name}={value}'")
    return Guilty()


def gone_without(runs: Runs, stage: Stage, name: str, shows: Shows, patches: Patches) -> bool:
    """Whether the difference is gone without the subsystem of this guilty pass; where that cannot be run, it is not."""
    backend = LADDER[stage]
    subsystem = name.partition(" ")[0]
    switch = next((s for s in SWITCHES.get(stage, ()) if f"{s[1]}.{s[0]}" == name), None)
    try:
        if switch is not None:
            key, table, value = switch
            observed = runs.compiled(backend, {**patches, table: {**patches.get(table, {}), key: value}})
            return observed.outcome == "returned" and not shows(observed)
        return subsystem in APPLICATIONS.get(stage, ()) and not _shows_with(runs, backend, subsystem, -1, shows, patches)
    except UndecidedError:
        return False


def _application(runs: Runs, backend: str, subsystem: str, shows: Shows, patches: Patches) -> Guilty:
    """Halve down to the first application that brings the difference back."""
    whole = _run(runs, backend, subsystem, HUGE, patches)
    low, high = -1, int(whole.facts.get("bisect", {}).get("count", 0)) - 1
    if high < 0 or not shows(whole):
        return Guilty(subsystem, _replay(backend, subsystem, -1))
    while high - low > 1:
        middle = (low + high) // 2
        if _shows_with(runs, backend, subsystem, middle, shows, patches):
            high = middle
        else:
            low = middle
    last = str(_run(runs, backend, subsystem, high, patches).facts.get("bisect", {}).get("last", ""))
    return Guilty(f"{subsystem} {_op(last)}".strip(), _replay(backend, subsystem, high))


def _shows_with(runs: Runs, backend: str, subsystem: str, maximum: int, shows: Shows, patches: Patches) -> bool:
    observed = _run(runs, backend, subsystem, maximum, patches)
    if observed.outcome != "returned":
        raise UndecidedError(f"compiled raises with {subsystem} limited to {maximum}")
    return shows(observed)


def _run(runs: Runs, backend: str, subsystem: str, maximum: int, patches: Patches) -> Observation:
    return runs.compiled(backend, patches, bisect={"backend": backend, "subsystem": subsystem, "max": maximum})


def _replay(backend: str, subsystem: str, maximum: int) -> str:
    return f"TORCH_BISECT_BACKEND={backend} TORCH_BISECT_SUBSYSTEM={subsystem} TORCH_BISECT_MAX={maximum}"


def _op(debug: str) -> str:
    """The name that stays the same in another program: no node numbers, no overload brackets."""
    name = debug.strip().strip("<>").removeprefix("OpOverload(").rstrip(")")
    found = re.search(r"op='([^']+)', overload='([^']*)'", debug)
    if found:
        return found[1].replace("::", ".") + (f".{found[2]}" if found[2] and found[2] != "default" else "")
    return re.sub(r"(_\d+)+$", "", name)
