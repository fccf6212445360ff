"""The columns of the findings list: what stands in them, how wide they are, and which are dropped on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from store.rows import FindingRow, Reduction
from workbench.export.sentences import MARKS, titled

REDUCTION_SIGNS = {
    Reduction.NONE: "·",
    Reduction.QUEUED: "…",
    Reduction.RUNNING: "▸",
    Reduction.DONE: "✓",
    Reduction.FAILED: "✗",
}


@dataclass(frozen=True, slots=True)
class Column:
    """``order``: key of ``store.query`` to sort by; ``needs``: width of the list from which it is shown; ``width`` 0 takes the rest."""

    title: str
    width: int
    text: Callable[[FindingRow], str]
    order: str = ""
    needs: int = 0
    right: bool = False


COLUMNS = (
    Column("id", 6, lambda r: str(r.id), "id", right=True),
    Column("state", 11, lambda r: f"{MARKS[r.state]} {r.state}", "state"),
    Column("red", 3, lambda r: REDUCTION_SIGNS[r.reduction], "", 54),
    Column("stage", 13, lambda r: r.stage.value if r.stage else "–", "stage", 100),
    Column("title", 0, titled, "title"),
    Column("dtype", 9, lambda r: r.dtype or "–", "dtype", 84),
    Column("stmts", 5, lambda r: str(r.statements), "size", 72, right=True),
    Column("bucket", 6, lambda r: str(r.bucket), "bucket", 110, right=True),
    Column("seen", 5, lambda r: f"{r.count}×", "count", 46, right=True),
    Column("labels", 18, lambda r: " ".join(r.labels), "", 130),
)

FRONT = 2
"""Cells before the first column: the cursor and the mark."""


def layout(width: int) -> list[tuple[Column, int, int]]:
    """(column, start, width) of the columns that fit."""
    shown = [c for c in COLUMNS if width >= c.needs]
    rest = max(8, width - FRONT - sum(c.width + 1 for c in shown if c.width) - 1)
    placed, x = [], FRONT
    for column in shown:
        wide = column.width or rest
        placed.append((column, x, wide))
        x += wide + 1
    return placed


def fit(text: str, width: int, *, right: bool = False) -> str:
    """The text in exactly ``width`` cells, cut with ``…``; control characters and line breaks become spaces."""
    text = "".join(ch if ch.isprintable() else " " for ch in text[: width * 4])
    size = cell_len(text)
    if size > width:
        return set_cell_size(text, width - 1) + "…"
    return " " * (width - size) + text if right else text + " " * (width - size)
