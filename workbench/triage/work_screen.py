"""The work view: what fuzz, reductions and re-checks do now; starts and stops campaigns and workers, which are processes of their own."""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from store.rows import Campaign
from workbench.triage.ask_dialog import AskDialog
from workbench.triage.detached import fuzz_words
from workbench.triage.dialogs import ConfirmDialog
from workbench.triage.messages import Change, WorkDetail
from workbench.triage.pick_list import Head, Line, PickList
from workbench.triage.work_text import campaign_cells, work_content

LOOK_SECONDS = 1.0
REMEMBERED = 60
"""Rates that a sparkline shows."""

HEADS = (
    Head("id", 4, right=True), Head("state", 10), Head("tests", 7, right=True), Head("a sec.", 6, right=True), Head("mism.", 5, right=True),
    Head("errors", 6, right=True, needs=60), Head("asked for", 0),
)  # fmt: skip


class WorkScreen(ModalScreen[None]):
    """Campaigns above, what is done now below."""

    HELP = """
    ## Work

    `n` starts a campaign, `s` asks the one under the cursor to stop (it keeps what is finished), `W` starts a worker for the queue.
    All of them are processes of their own: they go on when this screen is closed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,w", "leave", "Back", key_display="esc"),
        Binding("n", "start", "New campaign"),
        Binding("s", "stop", "Stop campaign"),
        Binding("W", "worker", "Start worker"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]

    class LookWanted(Message):
        """Load what is done now."""

    class StartWanted(Message):
        """Start a campaign with these options of ``workbench fuzz``, or, with None, a worker."""

        def __init__(self, words: list[str] | None) -> None:
            super().__init__()
            self.words = words

    def __init__(self) -> None:
        super().__init__()
        self.detail: WorkDetail | None = None
        self._rates: dict[int, deque[float]] = {}
        self._last: dict[int, tuple[float, float]] = {}

    def compose(self) -> ComposeResult:
        """Campaigns, then text."""
        yield Static("Work", id="work-title", markup=False)
        yield PickList(HEADS, id="campaigns", empty="No campaign yet: n starts one.", marks=False)
        with VerticalScroll(id="work-scroll", can_focus=False):
            yield Static(id="work-text", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Look now and every second."""
        self.query_one(PickList).focus()
        self.post_message(self.LookWanted())
        self.set_interval(LOOK_SECONDS, lambda: self.post_message(self.LookWanted()))

    def say(self, text: str) -> None:
        """What just happened."""
        self.query_one("#work-title", Static).update(f"Work  │  {text}" if text else "Work")

    def show(self, detail: WorkDetail) -> None:
        """Show what is done now."""
        newest = max((c.id for c in detail.campaigns), default=0)
        started = self.detail is not None and newest > max((c.id for c in self.detail.campaigns), default=0)
        self.detail = detail
        for campaign in detail.campaigns:
            self._measure(campaign)
        self.query_one(PickList).show([Line(c.id, campaign_cells(c)) for c in detail.campaigns])
        if started:
            self.query_one(PickList).go(newest)
        self._draw()

    def _measure(self, campaign: Campaign) -> None:
        """A rate from two looks at the counters."""
        seconds, tests = float(campaign.counters.get("seconds", 0.0)), float(campaign.counters.get("tests", 0))
        before = self._last.get(campaign.id)
        if before is not None and seconds > before[0]:
            self._rates.setdefault(campaign.id, deque(maxlen=REMEMBERED)).append((tests - before[1]) / (seconds - before[0]))
        self._last[campaign.id] = (seconds, tests)

    def _draw(self) -> None:
        if self.detail is not None:
            self.query_one("#work-text", Static).update(work_content(self.detail, self._rates, self._chosen()))

    def _chosen(self) -> Campaign | None:
        key = self.query_one(PickList).current
        return next((c for c in self.detail.campaigns if c.id == key), None) if self.detail else None

    def on_pick_list_highlighted(self, event: PickList.Highlighted) -> None:
        """The text tells of the campaign under the cursor."""
        event.stop()
        self._draw()

    def on_pick_list_opened(self, event: PickList.Opened) -> None:
        """Nothing more to open."""
        event.stop()

    def action_leave(self) -> None:
        """Back to the list."""
        self.dismiss(None)

    def action_start(self) -> None:
        """Ask what to fuzz."""

        def answered(text: str | None) -> None:
            if text is not None:
                self.post_message(self.StartWanted(fuzz_words(text)))

        hint = "options of workbench fuzz: --minutes --tests --seed --focus CODE --only MUTATOR --jobs; enter starts it, esc goes back"
        self.app.push_screen(AskDialog("Start a campaign: workbench fuzz", "--minutes 10 ", hint, check=fuzz_words), answered)

    def action_worker(self) -> None:
        """Start a worker."""
        self.post_message(self.StartWanted(None))

    def action_stop(self) -> None:
        """Ask the campaign under the cursor to stop."""
        campaign = self._chosen()
        if campaign is None or campaign.state in ("finished", "interrupted"):
            self.say("✗ the campaign under the cursor has ended already" if campaign else "✗ no campaign is chosen")
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual calls it
            if yes:
                self.post_message(Change("stop", (campaign.id,)))

        self.app.push_screen(ConfirmDialog(f"Stop campaign {campaign.id}? What is finished is kept."), answered)
