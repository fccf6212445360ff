"""One line of tabs: the saved filters, how many findings each shows, and which is shown."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget


class TabBar(Widget):
    """``1 all 300   2 new 37 …``; a click or a number chooses. A tab without a number shows nothing, one with ``?`` cannot be read."""

    class Chosen(Message):
        """This tab."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, tabs: Mapping[str, str], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.tabs = dict(tabs)
        self.counts: dict[str, int | None] = {}
        self.query_text = ""

    @property
    def active(self) -> str | None:
        """The tab whose filter is shown."""
        return next((name for name, query in self.tabs.items() if query.split() == self.query_text.split()), None)

    def show(
        self, *, tabs: Mapping[str, str] | None = None, counts: Mapping[str, int | None] | None = None, query: str | None = None
    ) -> None:
        """Other tabs, counts or another filter."""
        self.tabs = dict(tabs) if tabs is not None else self.tabs
        self.counts = dict(counts) if counts is not None else self.counts
        self.query_text = query if query is not None else self.query_text
        self.refresh()

    def render(self) -> Content:
        """The line; numbers of findings are left out where there is no room for them."""
        texts = self._texts()
        parts: list[tuple[str, str] | str] = []
        for name, text in texts:
            parts += [(f" {text} ", "bold reverse" if name == self.active else ""), " "]
        return Content.assemble(*parts)

    def _texts(self) -> list[tuple[str, str]]:
        def told(name: str, index: int, *, counted: bool) -> str:
            count = self.counts.get(name, 0)
            return f"{index + 1} {name}" + (f" {'?' if count is None else count}" if counted and count != 0 else "")

        for counted in (True, False):
            texts = [(name, told(name, index, counted=counted)) for index, name in enumerate(self.tabs)]
            if sum(cell_len(text) + 3 for _, text in texts) <= self.size.width:
                return texts
        return texts

    def on_click(self, event: events.Click) -> None:
        """The tab under the mouse."""
        x = 0
        for index, (_, text) in enumerate(self._texts()):
            wide = cell_len(text) + 2
            if x <= event.x < x + wide:
                self.post_message(self.Chosen(index))
            x += wide + 1
