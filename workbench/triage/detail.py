"""The detail pane: tabs over one finding. It is given a ``Detail`` and asks for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static, Tab, Tabs

from store.plain import one_line
from workbench.export.sentences import MARKS
from workbench.triage.configuration_text import configuration_content
from workbench.triage.differences_text import differences_content
from workbench.triage.messages import Detail
from workbench.triage.notes_text import history_content, warnings_content
from workbench.triage.program_text import VIEWS, editable_source, program_content, shown_source

TABS = ("program", "differences", "configuration", "warnings", "history")


class DetailScroll(VerticalScroll, can_focus=True):
    """The scrolled text under the tabs; j and k scroll it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", show=False),
        Binding("k,up", "scroll_up", "Up", show=False),
        Binding("g,home", "scroll_home", "Top", show=False),
        Binding("G,end", "scroll_end", "End", show=False),
        Binding("ctrl+d,pagedown", "page_down", "Page down", show=False),
        Binding("ctrl+u,pageup", "page_up", "Page up", show=False),
        Binding("escape", "screen.focus('#findings')", "Back to the list", show=False),
    ]


class DetailPane(Vertical):
    """One finding: program, differences, configuration, warnings, history."""

    HELP = """
    ## Detail

    `[` `]` change the tab, `tab` goes in and out, `j` `k` scroll.
    On the program: `o` shows the reduced one, the original, or both side by side; `y` copies;
    `e` opens it in $EDITOR, and a changed text is judged as a program of its own.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.detail: Detail | None = None
        self.view = VIEWS[0]

    def compose(self) -> ComposeResult:
        """Title, tabs, text."""
        yield Static(id="detail-title", markup=False)
        yield Tabs(*(Tab(name, id=name) for name in TABS), id="detail-tabs")
        with DetailScroll(id="detail-scroll"):
            yield Static(id="detail-text", markup=False)

    def show(self, detail: Detail | None) -> None:
        """Show this finding; None: nothing is chosen."""
        other = detail is None or self.detail is None or detail.row.id != self.detail.row.id
        self.detail = detail
        if other:
            self.view = VIEWS[0]
        self._draw(top=other)

    @property
    def tab(self) -> str:
        """The tab that is shown."""
        return self.query_one(Tabs).active or TABS[0]

    def next_tab(self, by: int) -> None:
        """The tab to the right or left, around the end."""
        self.query_one(Tabs).active = TABS[(TABS.index(self.tab) + by) % len(TABS)]

    def next_view(self) -> None:
        """Reduced, original, side by side."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        self.query_one(Tabs).active = TABS[0]
        self._draw(top=True)

    def source(self) -> str | None:
        """The program text that is shown."""
        return shown_source(self.detail, self.view) if self.detail else None

    def editable(self) -> str | None:
        """The program text that is shown, with its configuration in its block."""
        return editable_source(self.detail, self.view) if self.detail else None

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """Draw the tab that was chosen."""
        event.stop()
        self._draw(top=True)

    def on_resize(self) -> None:
        """Side by side depends on the width."""
        if self.view == VIEWS[2]:
            self._draw(top=False)

    def _draw(self, *, top: bool) -> None:
        title, text = self.query_one("#detail-title", Static), self.query_one("#detail-text", Static)
        if self.detail is None:
            title.update("")
            text.update(Content.styled("No finding is chosen.", "dim"))
            return
        row = self.detail.row
        generated = ("  (generated title)", "dim") if row.generated else ""
        title.update(
            Content.assemble(
                (f"{row.id} ", "bold"), f"{MARKS[row.state]} {row.state}  ", (one_line(row.title), "bold"), generated, _labels(row.labels)
            )
        )
        width = max(40, self.query_one(DetailScroll).size.width - 2)
        draw: dict[str, Callable[[Detail], Content]] = {
            "program": lambda d: program_content(d, self.view, width),
            "differences": differences_content,
            "configuration": configuration_content,
            "warnings": warnings_content,
            "history": history_content,
        }
        text.set_class(self.tab in ("program", "differences"), "-unwrapped")
        text.update(draw[self.tab](self.detail))
        if top:
            self.query_one(DetailScroll).scroll_home(animate=False)


def _labels(labels: tuple[str, ...]) -> str:
    return "  " + " ".join(f"#{label}" for label in labels) if labels else ""
