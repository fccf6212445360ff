"""Many findings on their way out: which of them have their gates met, what the others lack, and the keys to run the gates and write the files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from store.rows import FindingRow, JobState
from workbench.export.sentences import titled
from workbench.triage.ask_dialog import AskDialog
from workbench.triage.dialogs import ConfirmDialog
from workbench.triage.messages import Exportable, Exported, ExportsLoaded
from workbench.triage.pick_list import Head, Line, PickList

HEADS = (
    Head("id", 6, right=True), Head("draft", 13), Head("state", 10, needs=90), Head("bucket", 6, right=True, needs=70), Head("title", 0),
)  # fmt: skip


class ExportScreen(ModalScreen[None]):
    """The marked findings, each with the state of its gates. It runs nothing and writes nothing: it asks the app with messages."""

    HELP = """
    ## Export of many

    One line a finding: `✓ ready` when every gate is met, else what is unmet, not run, or on its way.
    `g` queues the gates that have not been run (a worker runs them; this list fills by itself), `w` writes the drafts that are ready into a
    folder, `F` all of them (the first line of a forced draft says so), `enter` shows the draft under the cursor. What is not written is told
    with its reason and stays marked. Nothing is ever sent anywhere.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,x", "leave", "Back", key_display="esc"),
        Binding("g", "gates", "Run gates", priority=True),
        Binding("w", "write", "Write ready"),
        Binding("F", "force", "Force all"),
        Binding("question_mark", "app.help", "Help", key_display="?"),
    ]

    class LookWanted(Message):
        """Load these findings."""

        def __init__(self, ids: Sequence[int]) -> None:
            super().__init__()
            self.ids = tuple(ids)

    class GatesWanted(Message):
        """Queue the gates of these findings."""

        def __init__(self, ids: Sequence[int]) -> None:
            super().__init__()
            self.ids = tuple(ids)

    class WriteWanted(Message):
        """Write the drafts of these findings into a folder."""

        def __init__(self, ids: Sequence[int], folder: Path, *, forced: bool) -> None:
            super().__init__()
            self.ids, self.folder, self.forced = tuple(ids), folder, forced

    class DraftWanted(Message):
        """Show the draft of one finding."""

        def __init__(self, finding_id: int) -> None:
            super().__init__()
            self.finding_id = finding_id

    def __init__(self, ids: Sequence[int], hidden: int, folder: Path) -> None:
        super().__init__()
        self.ids = list(ids)
        self.found: dict[int, Exportable] = {}
        self.exported: Exported | None = None
        self._hidden, self._folder = hidden, folder
        self._gone: set[int] = set()
        self._said = "g runs what was not run, w writes what is ready, enter shows a draft"

    def compose(self) -> ComposeResult:
        """What is exported, line by line, and the gates of the one under the cursor."""
        yield Static(id="export-title", markup=False)
        yield PickList(HEADS, id="exports", marks=False)
        with VerticalScroll(id="export-scroll", can_focus=False):
            yield Static(id="export-text", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        """Begin in the list."""
        self.lines.focus()
        self._fill()

    def on_screen_resume(self) -> None:
        """Look again, also when a draft that lay above has been closed."""
        self.post_message(self.LookWanted(self.ids))

    @property
    def lines(self) -> PickList:
        """The findings."""
        return self.query_one("#exports", PickList)

    def say(self, text: str) -> None:
        """What just happened."""
        self._said = text
        self._head()

    # what the app brings

    def show(self, event: ExportsLoaded) -> None:
        """Some of the findings, as they are now."""
        self.found.update({e.row.id: e for e in event.found})
        self._gone |= set(event.gone)
        self._gone -= self.found.keys() - set(event.gone)
        for finding in event.gone:
            self.found.pop(finding, None)
        self._fill()

    def tell(self, exported: Exported) -> None:
        """What was written and what was not."""
        self.exported = exported
        self._fill()

    def _fill(self) -> None:
        self.lines.show([Line(i, self._cells(i)) for i in self.ids])
        self._head()
        self._text()

    def _cells(self, finding: int) -> tuple[str, ...]:
        known = self.found.get(finding)
        if known is None:
            return (str(finding), "✗ gone" if finding in self._gone else "…", "", "", "")
        row = known.row
        return (str(finding), self._word(known), row.state.value, str(row.bucket), titled(row))

    def _word(self, known: Exportable) -> str:
        if self.exported and known.row.id in self.exported.written:
            return "✓ written"
        return word(known)

    def _head(self) -> None:
        known = list(self.found.values())
        running, queued = (sum(e.waiting is state for e in known) for state in (JobState.RUNNING, JobState.QUEUED))
        ready, unrun = len(self._ready()), sum(e.open for e in known)
        unmet = len(known) - ready - running - queued - unrun
        words = ((running, "running"), (queued, "queued"), (unrun, "not run"), (unmet, "unmet"))
        counts = [f"{ready} ready", *(f"{number} {what}" for number, what in words if number)]
        counts += [f"{len(self._gone)} gone"] if self._gone else []
        buckets = len({e.row.bucket for e in known})
        head = f"Export {len(self.ids)} findings of {buckets} bucket{'s' * (buckets != 1)}: {', '.join(counts)}"
        head += f" ({self._hidden} more marked, hidden by the filter: not touched)" if self._hidden else ""
        self.query_one("#export-title", Static).update(f"{head}\n{self._said}")

    def _ready(self) -> list[Exportable]:
        return [e for e in self.found.values() if e.report.met and e.waiting is None]

    def _text(self) -> None:
        known = self.found.get(self.lines.current) if self.lines.current is not None else None
        self.query_one("#export-text", Static).update(gates_content(known, self.exported) if known else "")

    def on_pick_list_highlighted(self, event: PickList.Highlighted) -> None:
        """The gates of the finding under the cursor."""
        event.stop()
        self._text()

    def on_pick_list_opened(self, event: PickList.Opened) -> None:
        """Its draft."""
        event.stop()
        self.post_message(self.DraftWanted(event.key))

    # actions

    def action_leave(self) -> None:
        """Back to the list."""
        self.dismiss(None)

    def action_gates(self) -> None:
        """Run the gates that have not been run."""
        waiting = [e.row.id for e in self.found.values() if e.open]
        if not waiting:
            self.say("✗ every gate has been run or is on its way; enter shows one draft, where g runs its gates again")
            return
        self.say(f"… queueing the gates of {_many(len(waiting))}")
        self.post_message(self.GatesWanted(waiting))

    def action_write(self) -> None:
        """Write the drafts that are ready."""
        ready = [i for i in self.ids if i in {e.row.id for e in self._ready()}]
        if not ready:
            self.say("✗ no draft is ready: g runs the gates, F writes drafts that say what is unmet")
            return
        left = len(self.ids) - len(ready)
        self._ask_folder(ready, f"Write {_many(len(ready), 'draft')}" + (f"; {left} not ready, left out" if left else ""), forced=False)

    def action_force(self) -> None:
        """Write all of them."""
        every = [i for i in self.ids if i in self.found]
        unmet = len(every) - len(self._ready())
        if not unmet:
            self.action_write()
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual calls it
            if yes:
                self._ask_folder(every, f"Write {_many(len(every), 'draft')}, {unmet} of them forced", forced=True)

        question = f"Write also the {_many(unmet, 'draft')} with unmet gates?\nThe first line of each says which, and that it must not be filed."
        self.app.push_screen(ConfirmDialog(question), answered)

    def _ask_folder(self, ids: Sequence[int], question: str, *, forced: bool) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                self.say(f"… writing {_many(len(ids), 'draft')}")
                self.post_message(self.WriteWanted(ids, self._place(text), forced=forced))

        hint = "the folder, made if it is not there; what stands there is not overwritten. enter writes, esc goes back"
        self.app.push_screen(AskDialog(question, "drafts", hint, check=self._place), answered)

    def _place(self, text: str) -> Path:
        return self._folder / Path(text.strip() or ".").expanduser()


def word(known: Exportable) -> str:
    """The state of a finding's gates in a word or two."""
    if known.waiting is not None:
        return "▸ running" if known.waiting is JobState.RUNNING else "… queued"
    failed = sum(gate.met is False for gate in known.report.gates)
    if failed:
        return f"✗ {failed} unmet"
    return "… not run" if known.open else "✓ ready"


def told(exported: Exported) -> str:
    """What was written and what was not, in a sentence."""
    wrote = f"{_many(len(exported.written), 'draft') if exported.written else 'nothing'} written to {exported.folder}"
    refused = ", ".join(map(str, exported.refused))
    return f"{wrote}; refused: {refused} (reasons below, still marked)" if refused else wrote


def gates_content(known: Exportable, exported: Exported | None) -> Content:
    """The gates of one finding, one a line, and what became of its draft."""
    styles = {"✓": "$text-success", "✗": "$text-error", "…": "dim"}
    lines = [Content.assemble((_heading(known.row), "bold"))]
    if exported and known.row.id in exported.written:
        lines += [Content(f"✓ written: {path}") for path in exported.written[known.row.id]]
    if exported and known.row.id in exported.refused:
        lines.append(Content.assemble(("✗ refused: ", "$text-error"), exported.refused[known.row.id]))
    for gate in known.report.gates:
        detail = (f"  {gate.detail}", "dim")
        lines.append(Content.assemble((gate.sign, styles[gate.sign]), f" {gate.name}", detail if gate.detail else ""))
    return Content("\n").join(lines)


def _heading(row: FindingRow) -> str:
    return f"{row.id}  {titled(row)}"


def _many(number: int, what: str = "finding") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
