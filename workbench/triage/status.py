"""The status line: where you are, what just happened, what is wrong with the store. Nothing in it blinks or goes away by itself."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class StatusLine(Static):
    """Counts on the left, then the last thing that happened; trouble with the store goes before everything."""

    def __init__(self, path: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__("", id=id, markup=False)
        self._path = path
        self._counts = ""
        self._said = ""
        self._working = ""
        self._trouble = ""

    def count(self, shown: int, total: int, marked: int, hidden: int) -> None:
        """How many are shown and marked."""
        counts = f"{shown} findings" if shown == total else f"{shown} of {total} findings"
        if marked or hidden:
            counts += f" · {marked} marked" + (f" (+{hidden} hidden)" if hidden else "")
        self._counts = counts
        self._draw()

    def say(self, text: str) -> None:
        """What just happened."""
        self._said = text
        self._draw()

    def working(self, workers: int, running: int, queued: int) -> None:
        """What workers do."""
        parts = [f"▸ {running} running" if running else "", f"… {queued} queued" if queued else ""]
        told = " ".join(p for p in parts if p)
        self._working = told + (
            f" ({workers} worker{'s' * (workers > 1)})" if workers and told else " (no worker: w, then W starts one)" if told else ""
        )
        self._draw()

    def trouble(self, text: str, hint: str) -> None:
        """The store cannot be read; an empty text: it can again."""
        self.set_class(bool(text), "-trouble")
        if self._trouble and not text:
            self._said = "✓ the store can be read again"
        self._trouble = f"✗ {text}" + (f" — {hint}" if hint else "") if text else ""
        self._draw()

    def _draw(self) -> None:
        parts = [self._trouble] if self._trouble else [self._counts, self._working, self._said or self._path]
        self.update(Content("  │  ".join(p for p in parts if p)))
