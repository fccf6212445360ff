"""A list that draws itself line by line under a header, with a cursor that keys and mouse move. What stands in its lines is its heirs' business."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip


class LineList(ScrollView, can_focus=True):
    """Lines with a cursor. An heir says how many there are (``count``), draws them, and may do more when the cursor moves (``_moved``)."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "line-list--row",
        "line-list--header",
        "line-list--cursor",
        "line-list--cursor-blurred",
        "line-list--mark",
        "line-list--empty",
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("g,home", "top", "First", show=False),
        Binding("G,end", "bottom", "Last", show=False),
        Binding("ctrl+d", "half(1)", "Half a page down", show=False),
        Binding("ctrl+u", "half(-1)", "Half a page up", show=False),
        Binding("pagedown", "half(2)", "Page down", show=False),
        Binding("pageup", "half(-2)", "Page up", show=False),
        Binding("space", "mark", "Mark"),
        Binding("asterisk", "mark_all", "Mark all", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.cursor = 0

    @property
    def count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def action_move(self, by: int) -> None:
        """The cursor, by lines."""
        self._go(self.cursor + by)

    def action_half(self, by: int) -> None:
        """The cursor, by half pages."""
        self._go(self.cursor + by * max(1, (self.size.height - 1) // 2))

    def action_top(self) -> None:
        """To the first line."""
        self._go(0)

    def action_bottom(self) -> None:
        """To the last line."""
        self._go(self.count - 1)

    def _go(self, index: int) -> None:
        self.cursor = max(0, min(index, self.count - 1))
        self._reveal()
        self._moved()

    def _moved(self) -> None:
        """The cursor, or what it stands on, is another."""
        self.refresh()

    def _reveal(self) -> None:
        top, height = round(self.scroll_offset.y), max(1, self.size.height - 1)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def _resize(self) -> None:
        """There is room for a header and the lines."""
        self.virtual_size = Size(self.size.width, self.count + 1)

    def on_resize(self) -> None:
        """More or fewer lines may be in sight."""
        self._resize()
        self.call_after_refresh(self._reveal)

    def on_focus(self) -> None:
        """The cursor looks different."""
        self.refresh()

    def on_blur(self) -> None:
        """The cursor looks different."""
        self.refresh()

    def _at(self, y: int) -> int | None:
        """Which line stands at this height of the screen, or None for the header and below the last."""
        index = y - 1 + round(self.scroll_offset.y)
        return index if y > 0 and index < self.count else None

    def _cut(self, text: str, name: str) -> Strip:
        """A whole line in the style of this name."""
        style = self.get_component_rich_style(f"line-list--{name}")
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, style)

    def _style(self, index: int, *, marked: bool) -> str:
        """The name of a line's style."""
        if index == self.cursor:
            return "cursor" if self.has_focus else "cursor-blurred"
        return "mark" if marked else "row"

    def _front(self, index: int, *, marked: bool) -> str:
        """The signs of cursor and mark, so that colour is never alone."""
        return ("▶" if index == self.cursor else " ") + ("✱" if marked else " ")
