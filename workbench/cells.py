"""The configuration grid of a finding: every backend, dynamic setting and mode that tells engineers where a bug shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from store.records import LADDER, MODES, Configuration
from store.rows import Event, JobKind, Run

DYNAMIC = (None, True, False)
SAID = frozenset({"backend", "dynamic", "mode"})
"""What a cell says about the configuration, also against what a script says itself."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of the grid."""

    backend: str
    mode: str
    dynamic: bool | None

    def applied(self, configuration: Configuration) -> Configuration:
        """The configuration with this cell's backend, mode and dynamic."""
        return configuration.with_(backend=self.backend, mode=self.mode, dynamic=self.dynamic)


ROWS = (*((backend, MODES[0]) for backend in LADDER.values()), *(("inductor", mode) for mode in MODES[1:]))
"""(backend, mode) of each line; modes mean something to Inductor alone."""

CELLS = tuple(Cell(backend, mode, dynamic) for backend, mode in ROWS for dynamic in DYNAMIC)


@dataclass(frozen=True, slots=True)
class Filled:
    """A cell with its newest verdict."""

    cell: Cell
    outcome: str
    torch: str
    at: str


def filled(configuration: Configuration, runs: Sequence[Run], events: Sequence[Event]) -> Iterator[Filled]:
    """Cells of the smallest program that have been judged. ``runs``: newest first; those before its reduction judged another program."""
    reduced = max((e.at for e in events if e.kind == "reduced"), default="")
    met: set[Cell] = set()
    for run in runs:
        if run.purpose != JobKind.GRID or run.at < reduced:
            continue
        said = run.configuration
        cell = Cell(said.get("backend", "inductor"), said.get("mode", MODES[0]), said.get("dynamic"))
        if cell not in met and cell.applied(configuration).non_default() == said:
            met.add(cell)
            yield Filled(cell, run.outcome, run.torch, run.at)
