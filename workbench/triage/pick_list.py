"""A list of short lines with a cursor and marks, drawn line by line: buckets, members of a bucket, campaigns. It is given lines and asks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.strip import Strip

from workbench.triage.columns import FRONT, fit
from workbench.triage.line_list import LineList


@dataclass(frozen=True, slots=True)
class Head:
    """A column: title and width; width 0 takes the rest, ``needs`` is the width of the list from which it is shown."""

    title: str
    width: int
    right: bool = False
    needs: int = 0


@dataclass(frozen=True, slots=True)
class Line:
    """One thing in the list: its number and a text for each column."""

    key: int
    cells: tuple[str, ...]


class PickList(LineList):
    """Lines with a cursor, and marks where ``marks`` says that something is done to what is marked."""

    class Highlighted(Message):
        """The cursor stands on another line, or on none."""

        def __init__(self, source: PickList, key: int | None) -> None:
            super().__init__()
            self.source, self.key = source, key

    class MarksChanged(Message):
        """Something was marked or unmarked."""

    class Opened(Message):
        """Enter, or a second click."""

        def __init__(self, source: PickList, key: int) -> None:
            super().__init__()
            self.source, self.key = source, key

    def __init__(self, heads: Sequence[Head], *, id: str, empty: str = "", marks: bool = True) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.heads = tuple(heads)
        self.empty = empty
        self.marks = marks
        self.lines: list[Line] = []
        self.marked: set[int] = set()
        self._told: int | None = None

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.lines)

    @property
    def current(self) -> int | None:
        """The key under the cursor."""
        return self.lines[self.cursor].key if self.cursor < len(self.lines) else None

    def targets(self) -> list[int]:
        """The marked keys that are shown, in their order."""
        return [line.key for line in self.lines if line.key in self.marked]

    def show(self, lines: Sequence[Line]) -> None:
        """Show these; the cursor keeps to its line where that is still there, marks of lines that are gone go."""
        before = self.current
        self.lines = list(lines)
        keys = [line.key for line in lines]
        self.cursor = keys.index(before) if before in keys else max(0, min(self.cursor, len(lines) - 1))
        self.marked &= set(keys)
        self._resize()
        self._reveal()
        self._moved()

    def go(self, key: int) -> None:
        """The cursor to a key, if it is there."""
        for index, line in enumerate(self.lines):
            if line.key == key:
                self._go(index)

    # drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the header, or an item."""
        width = self.size.width
        if y == 0:
            return self._cut(" " * FRONT + self._cells([h.title for h in self.heads], width), "header")
        index = self._at(y)
        if index is None:
            return self._cut(f"  {self.empty}" if not self.lines and y == 2 else "", "empty")
        line = self.lines[index]
        marked = line.key in self.marked
        return self._cut(self._front(index, marked=marked) + self._cells(line.cells, width), self._style(index, marked=marked))

    def _cells(self, texts: Sequence[str], width: int) -> str:
        shown = [(head, text) for head, text in zip(self.heads, texts, strict=True) if width >= head.needs]
        rest = max(8, width - FRONT - sum(head.width + 1 for head, _ in shown if head.width) - 1)
        return " ".join(fit(text, head.width or rest, right=head.right) for head, text in shown)

    # keys and mouse

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without marks there is no key for them."""
        return self.marks or action not in ("mark", "mark_all")

    def action_mark(self) -> None:
        """Mark or unmark the line under the cursor and go on to the next."""
        if self.current is not None:
            self.marked ^= {self.current}
            self.action_move(1)
            self.post_message(self.MarksChanged())

    def action_mark_all(self) -> None:
        """Mark all; when all are marked, unmark them."""
        every = {line.key for line in self.lines}
        self.marked = set() if every <= self.marked else every
        self.refresh()
        self.post_message(self.MarksChanged())

    def action_open(self) -> None:
        """Open the line under the cursor."""
        if self.current is not None:
            self.post_message(self.Opened(self, self.current))

    def on_click(self, event: events.Click) -> None:
        """A line is chosen; with ctrl it is marked; a second click opens it."""
        index = self._at(event.y)
        if index is None:
            return
        again = index == self.cursor and event.chain > 1
        if event.ctrl and self.marks:
            self.marked ^= {self.lines[index].key}
            self.post_message(self.MarksChanged())
        self._go(index)
        if again:
            self.action_open()

    def _moved(self) -> None:
        super()._moved()
        if self.current != self._told:
            self._told = self.current
            self.post_message(self.Highlighted(self, self.current))
