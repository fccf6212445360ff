"""A list of short lines with a cursor and marks, drawn line by line: buckets, members of a bucket, campaigns. It is given lines and asks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workbench.triage.columns import FRONT, fit


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


class PickList(ScrollView, can_focus=True):
    """Lines with a cursor and marks."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "pick-list--row",
        "pick-list--header",
        "pick-list--cursor",
        "pick-list--cursor-blurred",
        "pick-list--mark",
        "pick-list--empty",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("g,home", "move(-1000000000)", "First", show=False),
        Binding("G,end", "move(1000000000)", "Last", show=False),
        Binding("ctrl+d,pagedown", "half(1)", "Half a page down", show=False),
        Binding("ctrl+u,pageup", "half(-1)", "Half a page up", show=False),
        Binding("space", "mark", "Mark"),
        Binding("asterisk", "mark_all", "Mark all", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

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

    def __init__(self, heads: Sequence[Head], *, id: str, empty: str = "") -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.heads = tuple(heads)
        self.empty = empty
        self.lines: list[Line] = []
        self.cursor = 0
        self.marked: set[int] = set()
        self._told: int | None = None

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
        self.virtual_size = Size(self.size.width, len(lines) + 1)
        self._moved()

    def go(self, key: int) -> None:
        """The cursor to a key, if it is there."""
        for index, line in enumerate(self.lines):
            if line.key == key:
                self.cursor = index
                self._moved()

    # drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the header, or an item."""
        width = self.size.width
        if y == 0:
            return self._cut(" " * FRONT + self._cells([h.title for h in self.heads], width), "header", width)
        index = y - 1 + round(self.scroll_offset.y)
        if index >= len(self.lines):
            return self._cut(f"  {self.empty}" if not self.lines and y == 2 else "", "empty", width)
        line = self.lines[index]
        name = "mark" if line.key in self.marked else "row"
        if index == self.cursor:
            name = "cursor" if self.has_focus else "cursor-blurred"
        front = ("▶" if index == self.cursor else " ") + ("✱" if line.key in self.marked else " ")
        return self._cut(front + self._cells(line.cells, width), name, width)

    def _cells(self, texts: Sequence[str], width: int) -> str:
        shown = [(head, text) for head, text in zip(self.heads, texts, strict=True) if width >= head.needs]
        rest = max(8, width - FRONT - sum(head.width + 1 for head, _ in shown if head.width) - 1)
        return " ".join(fit(text, head.width or rest, right=head.right) for head, text in shown)

    def _cut(self, text: str, name: str, width: int) -> Strip:
        style: Style = self.get_component_rich_style(f"pick-list--{name}")
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    # keys and mouse

    def action_move(self, by: int) -> None:
        """The cursor, by lines."""
        self.cursor = max(0, min(self.cursor + by, len(self.lines) - 1))
        self._moved()

    def action_half(self, by: int) -> None:
        """The cursor, by half pages."""
        self.action_move(by * max(1, (self.size.height - 1) // 2))

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
        index = event.y - 1 + round(self.scroll_offset.y)
        if event.y == 0 or index >= len(self.lines):
            return
        again = index == self.cursor and event.chain > 1
        self.cursor = index
        if event.ctrl:
            self.marked ^= {self.lines[index].key}
        self._moved()
        if again:
            self.action_open()

    def _moved(self) -> None:
        top, height = round(self.scroll_offset.y), max(1, self.size.height - 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)
        self.refresh()
        if self.current != self._told:
            self._told = self.current
            self.post_message(self.Highlighted(self, self.current))

    def on_resize(self) -> None:
        """More or fewer lines may be in sight."""
        self.virtual_size = Size(self.size.width, len(self.lines) + 1)
        self.call_after_refresh(self._moved)

    def on_focus(self) -> None:
        """The cursor looks different."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks different."""
        self.refresh()
