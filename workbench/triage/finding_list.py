"""The list of findings: ids in memory, rows on demand, lines drawn one by one (a DataTable froze 17 s at 100,000 rows).

It knows nothing of the store: it asks for rows with ``RowsWanted`` and is given them with ``give``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from store.rows import FindingRow
from workbench.triage.columns import FRONT, fit, layout
from workbench.triage.line_list import LineList
from workbench.triage.marks import Marks

KEPT = 4000
"""Rows in memory."""

AHEAD = 40
"""Rows asked for beyond what is seen, either way."""


class FindingList(LineList):
    """Findings one a line, with a cursor and marks; a header that sorts."""

    HELP = """
    ## Findings

    `j` `k` or arrows move, `g` `G` go to the ends, `ctrl+d` `ctrl+u` by half a page.
    `space` marks, `v` begins and ends a range, `*` marks all shown, `esc` clears.
    What you do next is done to what is marked **and** shown, else to the finding under the cursor.
    `/` filters. `S` sorts by the next column; so does a click on its title.
    `✎` stands before a title that an LLM proposed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "range", "Range", show=False),
        Binding("escape", "clear", "Clear marks", show=False),
    ]

    class RowsWanted(Message):
        """These rows are on the screen, or near it, and not here."""

        def __init__(self, ids: Sequence[int], version: int) -> None:
            super().__init__()
            self.ids, self.version = ids, version

    class Highlighted(Message):
        """The cursor stands on another finding, or on none."""

        def __init__(self, finding_id: int | None) -> None:
            super().__init__()
            self.finding_id = finding_id

    class Opened(Message):
        """Enter or a second click on the finding under the cursor."""

    class MarksChanged(Message):
        """Something was marked or unmarked."""

    class SortWanted(Message):
        """A click on a column's title."""

        def __init__(self, order: str) -> None:
            super().__init__()
            self.order = order

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.ids: list[int] = []
        self.marks = Marks()
        self.order = "-id"
        self.empty = ("", "")
        self._rows: OrderedDict[int, tuple[int, FindingRow]] = OrderedDict()
        self._version = 0
        self._asked: tuple[int, int, int] | None = None
        self._told: int | None = None

    @property
    def count(self) -> int:
        """How many findings it shows."""
        return len(self.ids)

    # what the screen tells it

    def show_ids(self, ids: Sequence[int], order: str, *, stay: bool) -> None:
        """Show these findings; with ``stay`` the cursor keeps to its finding, where that is still there."""
        before = self.current
        offset = self.cursor - self.scroll_offset.y
        self.ids, self.order = list(ids), order
        self.cursor = self._place(before) if stay and before is not None else 0
        self._resize()
        self.marks.end_range()
        self.invalidate()
        self.scroll_to(y=max(0, self.cursor - offset) if stay else 0, animate=False, force=True)
        self._moved()

    def invalidate(self) -> None:
        """The rows may have changed: ask again, and show the old ones until the answer."""
        self._version += 1
        self._asked = None
        self._want()

    def give(self, asked: Sequence[int], rows: Sequence[FindingRow], version: int) -> None:
        """Rows that were asked for."""
        for row in rows:
            self._rows[row.id] = (version, row)
            self._rows.move_to_end(row.id)
        for gone in set(asked) - {row.id for row in rows}:
            self._rows.pop(gone, None)
        while len(self._rows) > KEPT:
            self._rows.popitem(last=False)
        self.refresh()

    def ask_again(self) -> None:
        """What was asked for was not answered."""
        self._asked = None

    @property
    def current(self) -> int | None:
        """The finding under the cursor."""
        return self.ids[self.cursor] if self.cursor < len(self.ids) else None

    @property
    def current_row(self) -> FindingRow | None:
        """Its row, if it has been loaded."""
        kept = self._rows.get(self.current) if self.current is not None else None
        return kept[1] if kept else None

    def loaded(self) -> list[FindingRow]:
        """Rows in memory."""
        return [row for _, row in self._rows.values()]

    def targets(self) -> tuple[list[int], int]:
        """What an action is done to: the marked findings that are shown, else the one under the cursor; and how many marks are hidden."""
        marked = self.marks.all(self.ids, self.cursor)
        if not marked:
            return ([self.current] if self.current is not None else []), 0
        shown = [i for i in self.ids if i in marked]
        return shown, len(marked) - len(shown)

    # drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the header, or a finding."""
        width = self.size.width
        if y == 0:
            return self._header(width)
        index = self._at(y)
        if index is None:
            return self._empty_line(y) if not self.ids else self._cut("", "row")
        return self._line(index, width)

    def _line(self, index: int, width: int) -> Strip:
        finding = self.ids[index]
        marked = self.marks.has(finding, index, self.cursor)
        front, style = self._front(index, marked=marked), self._style(index, marked=marked)
        kept = self._rows.get(finding)
        if kept is None:
            return self._cut(front + fit(f"{finding:>6} …", max(0, width - FRONT)), style)
        cells = [fit(c.text(kept[1]), wide, right=c.right) for c, _, wide in layout(width)]
        return self._cut(front + " ".join(cells), style)

    def _header(self, width: int) -> Strip:
        key, sign = self.order.removeprefix("-"), "↓" if self.order.startswith("-") else "↑"
        cells = [fit(f"{c.title}{sign}" if c.order == key else c.title, wide, right=c.right) for c, _, wide in layout(width)]
        return self._cut(" " * FRONT + " ".join(cells), "header")

    def _empty_line(self, y: int) -> Strip:
        text = {2: self.empty[0], 4: self.empty[1]}.get(y, "")
        return self._cut("  " + text, "empty")

    # moving

    def _place(self, finding: int) -> int:
        """Where a finding stands now; the old place when it is gone."""
        try:
            return self.ids.index(finding)
        except ValueError:
            return max(0, min(self.cursor, len(self.ids) - 1))

    def _moved(self) -> None:
        super()._moved()
        self._want()
        if self.marks.ranging:
            self.post_message(self.MarksChanged())
        if self.current != self._told:
            self._told = self.current
            self.post_message(self.Highlighted(self.current))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Ask for what came into sight."""
        super().watch_scroll_y(old_value, new_value)
        self._want()

    def on_resize(self) -> None:
        """More lines may be in sight (Textual calls the base's handler too)."""
        self._want()

    def _want(self) -> None:
        top, height = round(self.scroll_offset.y), self.size.height
        low, high = max(0, top - AHEAD), min(len(self.ids), top + height + AHEAD)
        near = (low, high, self._version)
        if near == self._asked:
            return
        missing = [i for i in self.ids[low:high] if self._rows.get(i, (-1,))[0] < self._version]
        if missing:
            self._asked = near
            self.post_message(self.RowsWanted(missing, self._version))

    # marks

    def action_mark(self) -> None:
        """Mark or unmark the finding under the cursor and go on to the next; ends a range."""
        if self.marks.ranging:
            self.action_range()
            return
        if self.current is not None:
            self.marks.toggle(self.current)
            self._go(self.cursor + 1)
            self._marked()

    def action_range(self) -> None:
        """Begin a range here, or end it and mark what lies between."""
        if self.ids:
            self.marks.range(self.ids, self.cursor)
            self._marked()

    def action_mark_all(self) -> None:
        """Mark all shown; when all are marked, unmark them."""
        self.marks.toggle_all(self.ids)
        self._marked()

    def action_clear(self) -> None:
        """Unmark everything, also what the filter hides."""
        self.marks.clear()
        self._marked()

    def unmark(self, ids: Iterable[int]) -> None:
        """These are done with."""
        self.marks.drop(list(ids))
        self._marked()

    def _marked(self) -> None:
        self.refresh()
        self.post_message(self.MarksChanged())

    def action_open(self) -> None:
        """Go to the detail."""
        if self.current is not None:
            self.post_message(self.Opened())

    # mouse

    def on_click(self, event: events.Click) -> None:
        """The header sorts; a line is chosen; with ctrl it is marked; a second click opens it."""
        if event.y == 0:
            column = next((c for c, x, wide in layout(self.size.width) if x <= event.x < x + wide), None)
            if column and column.order:
                self.post_message(self.SortWanted(column.order))
            return
        index = self._at(event.y)
        if index is None:
            return
        again = index == self.cursor and event.chain > 1
        self._go(index)
        if event.ctrl:
            self.marks.toggle(self.ids[index])
            self._marked()
        elif again:
            self.action_open()
