"""What the headless triage commands share: opening the store to read or to change, and lines for a terminal or for a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import click

from workbench.commands.options import database

if TYPE_CHECKING:
    from store import Store


def reading(db: str | None) -> Store:
    """The store, read-only: nothing is created or migrated."""
    from store import open_store

    return open_store(database(db), readonly=True)


def changing(db: str | None) -> Store:
    """The store, to be changed; a store that is not there is an error, not an empty new one."""
    from store import open_store

    path = database(db)
    if not path.exists():
        open_store(path, readonly=True).close()  # raises what to do about it
    return open_store(path)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], *, flexible: int | None = None, optional: Sequence[str] = ()) -> None:
    """Rows on stdout: a table on a terminal, else lines with tabs and no titles.

    On a narrow terminal the columns ``optional`` are left out, last first, and then column ``flexible`` is cut.
    """
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(_plain(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    kept = _fitting(titles, rows, console.width, flexible, optional)
    drawn = Table(box=None, padding=(0, 1), pad_edge=False, header_style="bold underline")
    for index in kept:
        wide = _width(titles, rows, index)
        if index == flexible:
            wide = min(wide, console.width - sum(_width(titles, rows, i) + GAP for i in kept if i != flexible))
        justify: Literal["left", "right"] = "right" if _numeric(rows, index) else "left"
        drawn.add_column(
            titles[index], no_wrap=True, overflow="ellipsis", justify=justify, width=max(wide, 8) if index == flexible else wide
        )
    for row in rows:
        drawn.add_row(*(Text(_plain(row[index])) for index in kept))
    console.print(drawn)


GAP = 2
"""Cells between two columns."""


def _width(titles: Sequence[str], rows: Sequence[Sequence[str]], index: int) -> int:
    return max([len(titles[index]), *(len(row[index]) for row in rows)])


def _fitting(titles: Sequence[str], rows: Sequence[Sequence[str]], room: int, flexible: int | None, optional: Sequence[str]) -> list[int]:
    """The columns that fit, with at least 24 cells for the flexible one."""
    kept = list(range(len(titles)))
    for name in reversed(optional):
        if sum(24 if i == flexible else _width(titles, rows, i) for i in kept) + GAP * len(kept) <= room:
            break
        kept.remove(titles.index(name))
    return kept


def _plain(cell: str) -> str:
    return "".join(ch if ch.isprintable() else " " for ch in cell)


def _numeric(rows: Sequence[Sequence[str]], index: int) -> bool:
    return bool(rows) and all(row[index].isdigit() for row in rows)
