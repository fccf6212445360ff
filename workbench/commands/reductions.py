"""The live table of running reductions that ``minimize`` and ``work`` show on a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from reducers.search import Progress

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
