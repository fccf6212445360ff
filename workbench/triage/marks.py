"""Which findings are marked: a set of ids that outlives filters, and a range that is being drawn. Knows no screen."""

from __future__ import annotations

from collections.abc import Sequence


class Marks:
    """Marked ids. A range lies between where it began and the cursor, and counts as marked while it is drawn."""

    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._anchor: int | None = None

    @property
    def ranging(self) -> bool:
        """A range has begun and has not ended."""
        return self._anchor is not None

    def toggle(self, finding: int) -> None:
        """Mark it, or unmark it."""
        self._ids ^= {finding}

    def range(self, ids: Sequence[int], cursor: int) -> None:
        """Begin a range at the cursor, or end it there and keep what lies between."""
        if self._anchor is None:
            self._anchor = cursor
            return
        self._ids |= set(self._between(ids, cursor))
        self._anchor = None

    def toggle_all(self, ids: Sequence[int]) -> None:
        """Mark all of them; unmark them when all are marked."""
        self._anchor = None
        shown = set(ids)
        if shown <= self._ids:
            self._ids -= shown
        else:
            self._ids |= shown

    def end_range(self) -> None:
        """Drop a range that is being drawn: the lines it was drawn over have changed."""
        self._anchor = None

    def clear(self) -> None:
        """Unmark everything."""
        self._ids.clear()
        self._anchor = None

    def drop(self, ids: Sequence[int]) -> None:
        """Unmark these."""
        self._ids -= set(ids)

    def has(self, finding: int, index: int, cursor: int) -> bool:
        """Whether the finding on line ``index`` is marked or in the range."""
        if finding in self._ids:
            return True
        return self._anchor is not None and min(self._anchor, cursor) <= index <= max(self._anchor, cursor)

    def all(self, ids: Sequence[int], cursor: int) -> set[int]:
        """Everything that is marked, the range included, shown or hidden."""
        return self._ids | set(self._between(ids, cursor))

    def _between(self, ids: Sequence[int], cursor: int) -> Sequence[int]:
        if self._anchor is None:
            return ()
        return ids[min(self._anchor, cursor) : max(self._anchor, cursor) + 1]
