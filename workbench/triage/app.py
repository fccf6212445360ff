"""The triage app: puts list, query bar and detail on one screen, moves messages between them and thread workers. Draws nothing itself."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.filter import LineFilter
from textual.screen import Screen
from textual.widgets import Footer, HelpPanel

from workbench.export.sentences import MARKS
from workbench.triage import messages
from workbench.triage.detail import DetailScroll
from workbench.triage.exports import Exports
from workbench.triage.finding_list import FindingList
from workbench.triage.hangup import WATCH_SECONDS, hung_up, terminal_of
from workbench.triage.printable import Printable
from workbench.triage.query_bar import QueryBar
from workbench.triage.tabs import MOST
from workbench.triage.threads import while_up

POLL_SECONDS = 0.5
"""How often the store is asked whether somebody committed (PRAGMA data_version: next to nothing)."""

TYPING_SECONDS = 0.12
"""How long typing rests before the filter is applied."""

PREVIEW_SECONDS = 0.08
"""How long the cursor rests before its finding is loaded: a program of 200 lines takes 0.1 s to colour."""

GONE = 129
"""The exit code when the terminal went away: what a shell says of SIGHUP."""

SORTS = ("-id", "-seen", "-count", "size", "state", "stage", "bucket", "title", "dtype")


class TriageApp(Exports):
    """Triage of one store."""

    TITLE = "workbench triage"
    CSS_PATH = "triage.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (130, "-wide")]  # noqa: RUF012 - as Textual declares it

    HELP = """
    # Triage

    Marked findings that are shown are acted on, else the one under the cursor. Everything but the written files can be undone.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", id="triage.help", key_display="?"),
        Binding("slash", "filter", "Filter", id="triage.filter", key_display="/"),
        # those that a narrow footer should show come first; it is cut on the right
        Binding("x", "draft", "Export", id="triage.export"),
        Binding("r", "reduce", "Reduce", id="triage.reduce"),
        Binding("c", "recheck", "Re-check", id="triage.recheck"),
        Binding("left_square_bracket", "tab(-1)", "Tab left", show=False, id="triage.tab-left"),
        Binding("right_square_bracket", "tab(1)", "Pane", id="triage.tab-right", key_display="[ ]"),
        Binding("l", "label", "Label", id="triage.label"),
        Binding("s", "state", "State", id="triage.state"),
        Binding("b", "buckets", "Buckets", id="triage.buckets"),
        Binding("w", "work", "Work", id="triage.work"),
        Binding("u,z", "undo", "Undo", id="triage.undo"),
        Binding("Z", "redo", "Redo", show=False, id="triage.redo"),
        Binding("e", "edit", "Edit", show=False, id="triage.edit"),
        Binding("y", "copy", "Copy", show=False, id="triage.copy"),
        Binding("o", "view", "Other text", show=False, id="triage.view"),
        Binding("S", "sort", "Sort", show=False, id="triage.sort"),
        Binding("X", "gates", "Run the gates", show=False, id="triage.gates"),
        Binding("f", "grid", "Fill the grid", show=False, id="triage.grid"),
        Binding("t", "save_tab", "Keep the filter as a tab", show=False, id="triage.save-tab"),
        Binding("D", "drop_tab", "Take the tab away", show=False, id="triage.drop-tab"),
        *(Binding(str(n + 1), f"saved({n})", f"Tab {n + 1}", show=False, id=f"triage.tab-{n + 1}") for n in range(MOST)),
        Binding("delete", "delete", "Delete", show=False, id="triage.delete"),
        Binding("q", "quit", "Quit", id="triage.quit"),
    ]

    def __init__(self, path: Path, *, query: str = "", folder: Path | None = None, tabs_path: Path | None = None) -> None:
        super().__init__(path, query=query, folder=folder, tabs_path=tabs_path)
        self._query = query
        self._order = "-id"
        self._total = 0
        self._trouble = ""
        self._printable = Printable()
        self._shown: tuple[str, str] | None = None

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every drawn line goes through."""
        return [*super().get_line_filters(), self._printable]

    def compose(self) -> ComposeResult:
        """Filter above, list and detail, status and keys below."""
        yield self.tab_bar
        yield self.bar
        with Container(id="main"):
            with Vertical(id="left"):
                yield self.findings
            yield self.pane
        yield self.status
        yield Footer()

    def on_mount(self) -> None:
        """Start to look."""
        self.findings.empty = ("Loading …", "")
        self.findings.focus()
        if self.tabs_trouble:
            self.status.say(f"✗ {self.tabs_trouble}")
        self._poll()
        self.set_interval(POLL_SECONDS, self._poll)
        if (terminal := terminal_of(sys.__stdin__)) is not None:
            self.set_interval(WATCH_SECONDS, lambda: self._watch(terminal))

    def _watch(self, terminal: int) -> None:
        if hung_up(terminal):
            self.exit(return_code=GONE)

    def on_unmount(self) -> None:
        """Let go of the store."""
        self.source.close()

    # what threads and widgets say

    @while_up
    def on_store_changed(self) -> None:
        """Somebody committed: list, detail and draft anew, cursor and marks stay."""
        self._list(self._query, self._order)
        if self.findings.current is not None:
            self._load_detail(self.findings.current)
        self.refresh_drafts()
        self.refresh_views()
        self.refresh_edits()

    @while_up
    def on_store_trouble(self, event: messages.StoreTrouble) -> None:
        """Say it once, keep what is on the screen; say when it is over."""
        if event.text == self._trouble:
            return
        self._trouble = event.text
        self.status.trouble(event.text, event.hint)
        if event.text and not self.findings.ids:
            self.findings.empty = (event.text, event.hint)
            self.findings.refresh()

    @while_up
    def on_listed(self, event: messages.Listed) -> None:
        """New ids for the list."""
        if event.text != self._query or event.order != self._order:
            return
        findings, stay = self.findings, self._shown == (event.text, event.order)
        if self._shown is None and not self.is_headless:
            gc.freeze()  # all that is made by now stays: a full collection, every few seconds, held up the keys for 0.1 s
        self._shown = (event.text, event.order)
        self._total = event.total
        findings.empty = self._empty_words(event.total)
        findings.show_ids(event.ids, event.order, stay=stay)
        self._count()

    def _empty_words(self, total: int) -> tuple[str, str]:
        if total:
            return f"None of {total} findings match the filter.", "esc in the filter takes it back; / edits it"
        return "No findings yet.", "workbench fuzz --minutes 2     finds some; this list fills by itself"

    @while_up
    def on_query_failed(self, event: messages.QueryFailed) -> None:
        """Say in the bar what is wrong with the filter."""
        if event.text == self.bar.text:
            self.bar.complain(event.problem, event.hint, event.place)

    @while_up
    def on_rows_loaded(self, event: messages.RowsLoaded) -> None:
        """Rows for the list."""
        self.findings.give(event.asked, event.rows, event.version)

    @while_up
    def on_detail_loaded(self, event: messages.DetailLoaded) -> None:
        """The detail of the finding under the cursor."""
        if event.finding_id == self.findings.current:
            self.pane.show(event.detail)

    @while_up
    def on_rows_failed(self) -> None:
        """The store was in the way; ask again with the next poll."""
        self.findings.ask_again()

    @while_up
    def on_working(self, event: messages.Working) -> None:
        """What workers do."""
        self.status.working(event.workers, event.running, event.queued)

    @while_up
    def on_written(self, event: messages.Written) -> None:
        """A change was made; the poll will show it, but not wait for it."""
        self.said(f"✓ {event.text}")
        self._poll()

    @while_up
    def on_write_failed(self, event: messages.WriteFailed) -> None:
        """A change was refused."""
        self.said(f"✗ {event.problem}" + (f" — {event.hint}" if event.hint else ""))

    def on_finding_list_rows_wanted(self, event: FindingList.RowsWanted) -> None:
        """A page of the list."""
        self._load_rows(list(event.ids), event.version)

    def on_finding_list_highlighted(self, event: FindingList.Highlighted) -> None:
        """The preview follows the cursor when it rests."""
        if event.finding_id is None:
            self.pane.show(None)
            return
        chosen = event.finding_id
        self.findings.set_timer(PREVIEW_SECONDS, lambda: self._load_detail(chosen) if self.findings.current == chosen else None)

    def on_finding_list_opened(self) -> None:
        """Into the detail."""
        self.pane.query_one(DetailScroll).focus()

    def on_finding_list_marks_changed(self) -> None:
        """Say how many."""
        self._count()

    def on_finding_list_sort_wanted(self, event: FindingList.SortWanted) -> None:
        """Sort by this; again: the other way round."""
        self._sort(f"-{event.order}" if self._order == event.order else event.order)

    def on_query_bar_changed(self, event: QueryBar.Changed) -> None:
        """Filter; a finished filter gives the keys back to the list."""
        if event.done:
            self._apply(event.text)
            self.findings.focus()
            return
        self.bar.set_timer(TYPING_SECONDS, lambda: self._apply(event.text) if self.bar.text == event.text else None)

    def _apply(self, text: str) -> None:
        if text != self._query:
            self._query = text
            self.tab_bar.show(query=text)
            self._list(text, self._order)

    def _sort(self, order: str) -> None:
        self._order = order
        self._list(self._query, order)

    def _count(self) -> None:
        findings = self.findings
        marked, hidden = findings.targets()
        any_marked = bool(findings.marks.all(findings.ids, findings.cursor))
        self.status.count(len(findings.ids), self._total, len(marked) if any_marked else 0, hidden)

    # actions

    def action_filter(self) -> None:
        """Edit the filter."""
        self.bar.edit()

    def action_tab(self, by: int) -> None:
        """The next tab of the detail."""
        self.pane.next_tab(by)

    def action_view(self) -> None:
        """Reduced, original, side by side."""
        self.pane.next_view()

    def action_sort(self) -> None:
        """Sort by the next column."""
        place = SORTS.index(self._order) if self._order in SORTS else -1
        self._sort(SORTS[(place + 1) % len(SORTS)])
        self.status.say(f"sorted by {self._order.removeprefix('-')}")

    def action_help(self) -> None:
        """Show or hide the help."""
        if self.screen.query(HelpPanel):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action by name, and filters that are often wanted."""
        yield from super().get_system_commands(screen)
        for binding in self.BINDINGS:
            if isinstance(binding, Binding) and not binding.action.startswith(("tab", "saved")):
                yield SystemCommand(binding.description, f"key {binding.key_display or binding.key}", self._runner(binding.action))
        for state, mark in MARKS.items():
            yield SystemCommand(f"Show {state}", f"filter {mark} state:{state}", lambda s=state: self.bar.set_text(f"state:{s}"))
        yield SystemCommand("Show all", "no filter", lambda: self.bar.set_text(""))

    def _runner(self, action: str) -> Callable[[], None]:
        def run() -> None:
            self.call_later(self.run_action, action)

        return run
