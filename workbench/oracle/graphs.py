"""The guilty graph: which of several graphs, compiled alone while the others stay eager, shows the difference (DESIGN §3).

By torch's own filter (``torch._dynamo.config.debug_backend_override``, ``TORCH_COMPILE_OVERRIDE_BACKENDS``), which knows a graph by the id of
its frame. A torch without it, or a difference that no prefix of the graphs shows, gives no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from store.records import LADDER, Stage
from workbench.oracle.explain import Patches
from workbench.oracle.guilty import Shows
from workbench.oracle.observation import Observation
from workbench.oracle.runs import Runs, UndecidedError

KEY = "debug_backend_override"
VARIABLE = "TORCH_COMPILE_OVERRIDE_BACKENDS"


@dataclass(frozen=True, slots=True)
class GuiltyGraph:
    """What has to be compiled for the difference to show.

    name:     ``2 of 3: torch_dynamo_resume_in_fn_at_7, line 7``; where one graph alone does not do, ``1 to 2 of 3 together: …``; empty: no answer
    override: the filter that leaves the other graphs eager; empty when there is nothing to leave out
    """

    name: str = ""
    override: str = ""

    def patched(self, patches: Patches) -> Patches:
        """The patches with the other graphs left eager."""
        return with_override(patches, self.override) if self.override else patches

    @property
    def replay(self) -> str:
        """Environment that leaves the other graphs eager, to put before a command."""
        return f"{VARIABLE}='{self.override}'" if self.override else ""


def guilty_graph(runs: Runs, stage: Stage, shows: Shows, patches: Patches) -> GuiltyGraph:
    """The graph to blame at a stage below Dynamo; nothing where the program has one graph or none."""
    backend = LADDER[stage]
    if stage is Stage.DYNAMO:
        return GuiltyGraph()
    try:
        frames = _frames(runs.compiled(backend, patches))
        return _narrowed(runs, backend, frames, shows, patches) if len(frames) > 1 else GuiltyGraph()
    except UndecidedError:
        return GuiltyGraph()


def _narrowed(runs: Runs, backend: str, frames: Sequence[tuple[int, str, int]], shows: Shows, patches: Patches) -> GuiltyGraph:
    """Halve down to the shortest prefix of graphs that shows the difference; then its last one alone."""

    def shown(override: str) -> bool:
        observed = runs.compiled(backend, with_override(patches, override))
        return observed.outcome == "returned" and shows(observed)

    low, high = -1, len(frames) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if shown(f">{frames[middle][0]}:eager"):
            high = middle
        else:
            low = middle
    number, name, line = frames[high]
    alone = _alone(number)
    if shown(alone):
        return GuiltyGraph(f"{high + 1} of {len(frames)}: {name}, line {line}", alone)
    prefix = "" if high == len(frames) - 1 else f">{number}:eager"
    if high == 0 or (prefix and not shown(prefix)):
        return GuiltyGraph()
    return GuiltyGraph(f"1 to {high + 1} of {len(frames)} together: up to {name}, line {line}", prefix)


def _alone(number: int) -> str:
    return f">{number}:eager" if number == 0 else f"<{number}:eager;>{number}:eager"


def with_override(patches: Patches, override: str) -> Patches:
    """Patches that also send the graphs of a filter to another backend."""
    return {**patches, "dynamo": {**patches.get("dynamo", {}), KEY: override}}


def _frames(observed: Observation) -> list[tuple[int, str, int]]:
    told = observed.facts.get("frames")
    found = []
    for one in told if isinstance(told, list) else ():
        if isinstance(one, dict) and isinstance(one.get("id"), int):
            found.append((one["id"], str(one.get("name", "")), int(one.get("line") or 0)))
    return found
