"""The live table of running reductions that ``minimize`` and ``work`` show on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from reducers.search import Progress
    from store.records import JSON

ROWS = 20
"""Reductions shown at once; the ones that moved last."""


@contextmanager
def live_table(names: Sequence[str] = (), *, quiet: bool) -> Iterator[Callable[[str, Progress], None]]:
    """Gives a function that takes a name and its progress. Draws on stderr, only on a terminal and unless ``quiet``."""
    if quiet or not sys.stderr.isatty():
        yield lambda name, progress: None
        return
    from rich.console import Console
    from rich.live import Live

    rows: dict[str, Progress | None] = dict.fromkeys(names)
    lock = threading.Lock()
    with Live(_table(rows), console=Console(stderr=True), refresh_per_second=4, transient=True) as live:

        def update(name: str, progress: Progress) -> None:
            with lock:
                rows.pop(name, None)
                rows[name] = progress
                live.update(_table(rows))

        yield update


COLUMNS = ("finding", "statements", "calls", "compiles", "seconds", "cold", "ended")


def summary_table(entries: Sequence[Mapping[str, JSON]]) -> str:
    """The end of a batch, one line a reduction (entries of ``minimize --json``): sizes, costs, cold runs, how it ended; a last line of sums."""
    rows = [COLUMNS, *(_cells(e) for e in entries)]
    done = [e for e in entries if not e.get("error")]
    if len(done) > 1:
        costs = (f"{sum(e['oracle_calls'] for e in done)}", f"{sum(e['compiles'] for e in done)}", f"{sum(e['seconds'] for e in done):.0f}")
        sizes = f"{sum(e['statements_before'] for e in done)} -> {sum(e['statements_after'] for e in done)}"
        rows.append((f"{len(done)} reduced", sizes, *costs, "", ""))
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    return "\n".join("  ".join(_aligned(cell, width, i) for i, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows)


def _cells(entry: Mapping[str, JSON]) -> tuple[str, ...]:
    name = f"#{entry['finding']}" if isinstance(entry["finding"], int) else str(entry["finding"])
    if entry.get("error"):
        return (name, "", "", "", "", "", f"failed: {entry['error']}")
    n, m = entry["certified"]
    sizes = f"{entry['statements_before']} -> {entry['statements_after']}"
    costs = (str(entry["oracle_calls"]), str(entry["compiles"]), f"{entry['seconds']:.0f}")
    return (name, sizes, *costs, f"{n}/{m}" if m else "", str(entry["ended"]))


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column in (0, 6) else cell.rjust(width)


def _table(rows: dict[str, Progress | None]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("finding", "statements", "bytes", "calls", "compiles", "calls/s", "pass"):
        table.add_column(title, justify="left" if title in ("finding", "pass") else "right")
    for name, p in list(rows.items())[-ROWS:]:
        if p is None:
            table.add_row(name, "", "", "", "", "", "waiting")
            continue
        rate = f"{p.calls / p.seconds:.1f}" if p.seconds else ""
        sizes = (f"{p.statements_before} → {p.statements}", f"{p.bytes_before} → {p.bytes}")
        table.add_row(name, *sizes, str(p.calls), str(p.compiles), rate, p.current)
    return table
