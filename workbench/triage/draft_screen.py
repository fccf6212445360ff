"""The draft preview: the gates as a checklist, the issue text, and the keys to run the gates and to write the files."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.highlight import highlight
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from workbench.triage.messages import DraftView


class DraftScreen(ModalScreen[None]):
    """The draft of one finding. It runs nothing and writes nothing: it asks the app with messages."""

    HELP = """
    ## Issue draft

    The gates decide whether it may be exported. `g` queues the run of those about the repro (a worker runs them, each in a fresh process).
    `w` writes draft and repro into the current folder when all are met; `F` forces it, and the draft's first line says so.
    Nothing is ever sent anywhere: you file it yourself, with your own comment.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,x", "dismiss(None)", "Back"),
        Binding("g", "gates", "Run gates"),
        Binding("w", "write", "Write files"),
        Binding("F", "force", "Force"),
        Binding("y", "copy", "Copy"),
        Binding("j,down", "scroll(1)", "Down", show=False),
        Binding("k,up", "scroll(-1)", "Up", show=False),
        Binding("ctrl+d,pagedown", "scroll(15)", "Page down", show=False),
        Binding("ctrl+u,pageup", "scroll(-15)", "Page up", show=False),
    ]

    class GatesWanted(Message):
        """Queue the gates of this finding."""

        def __init__(self, finding_id: int) -> None:
            super().__init__()
            self.finding_id = finding_id

    class WriteWanted(Message):
        """Write the files of this finding."""

        def __init__(self, finding_id: int, *, forced: bool) -> None:
            super().__init__()
            self.finding_id, self.forced = finding_id, forced

    def __init__(self, finding_id: int) -> None:
        super().__init__()
        self.finding_id = finding_id
        self.view: DraftView | None = None

    def compose(self) -> ComposeResult:
        """Checklist, text, keys."""
        with VerticalScroll(id="draft"):
            yield Static(f"Issue draft of finding {self.finding_id} …", id="draft-gates", markup=False)
            yield Static(id="draft-text", markup=False)
        yield Footer()

    def show(self, view: DraftView) -> None:
        """Show the checklist and the text."""
        same = self.view is not None and self.view.draft.text == view.draft.text
        self.view = view
        self.query_one("#draft-gates", Static).update(checklist(view))
        if not same:
            self.query_one("#draft-text", Static).update(highlight(view.draft.text, language="markdown"))

    def action_gates(self) -> None:
        """Ask for the gates to be run."""
        self.post_message(self.GatesWanted(self.finding_id))

    def action_write(self) -> None:
        """Write, if the gates allow it."""
        if self.view and not self.view.report.met:
            self.notify("gates are unmet: g runs them, F writes a draft that says so", severity="warning", markup=False)
            return
        self.post_message(self.WriteWanted(self.finding_id, forced=False))

    def action_force(self) -> None:
        """Write in spite of unmet gates."""
        self.post_message(self.WriteWanted(self.finding_id, forced=True))

    def action_copy(self) -> None:
        """The draft to the clipboard."""
        if self.view:
            self.app.copy_to_clipboard(self.view.draft.text)
            self.notify("draft copied", markup=False)

    def action_scroll(self, lines: int) -> None:
        """Scroll by lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def checklist(view: DraftView) -> Content:
    """The gates, one a line, and what they add up to."""
    report, draft = view.report, view.draft
    styles = {"✓": "$text-success", "✗": "$text-error", "…": "dim"}
    lines = [Content.styled(draft.title, "bold"), Content(f"labels: {', '.join(draft.labels)}"), Content("")]
    for gate in report.gates:
        name, detail = (gate.sign, styles[gate.sign]), (f"  {gate.detail}", "dim")
        lines.append(Content.assemble(name, f" {gate.name}", detail if gate.detail else ""))
    if view.running:
        said = "▸ the gates are queued or running; this list fills by itself"
    elif report.met:
        said = "✓ every gate is met: w writes the draft and its repro"
    elif any(g.met is None for g in report.gates):
        said = "… not every gate has been run: g runs them"
    else:
        said = "✗ unmet gates: no export, unless forced with F"
    return Content("\n").join([*lines, Content.styled(said, "bold"), Content("")])
