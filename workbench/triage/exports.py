"""Drafts of the app: the preview of one, the list of many. Moves messages between their screens and thread workers; draws nothing itself."""

from __future__ import annotations

from collections.abc import Sequence

from textual.worker import get_current_worker

from store.rows import JobKind
from workbench.errors import WorkbenchError
from workbench.triage import messages
from workbench.triage.draft_screen import DraftScreen
from workbench.triage.edits import Edits
from workbench.triage.export_screen import ExportScreen, told
from workbench.triage.threads import while_up

AT_ONCE = 25
"""Findings told to the screen at a time: 4 ms each, so that 300 fill it while they are read."""


class Exports(Edits):
    """What the app does about drafts."""

    def refresh_drafts(self) -> None:
        """Somebody committed: the draft or the drafts that are shown anew."""
        if isinstance(self.screen, DraftScreen):
            self._load_draft(self.screen.finding_id)
        elif isinstance(self.screen, ExportScreen):
            self._load_exports(self.screen.ids)

    def action_draft(self) -> None:
        """Preview the issue draft; of several marked findings, show them all with their gates."""
        ids, hidden = self.findings.targets()
        if len(ids) > 1:
            self.push_screen(ExportScreen(ids, hidden, self.folder))
            return
        ids, _ = self.chosen("Draft of")
        if ids:
            self._show_draft(ids[0])

    def _show_draft(self, finding: int) -> None:
        self.push_screen(DraftScreen(finding))
        self._load_draft(finding)

    def on_draft_screen_gates_wanted(self, event: DraftScreen.GatesWanted) -> None:
        """Queue the gates."""
        self._write(lambda: self.writer.queue(JobKind.GATES, [event.finding_id]))

    def on_draft_screen_write_wanted(self, event: DraftScreen.WriteWanted) -> None:
        """Write the files; asking a subprocess for the versions takes seconds."""
        self.said(f"… writing the draft of finding {event.finding_id}")
        self._write(lambda: self.writer.export(event.finding_id, self.folder, forced=event.forced))

    @while_up
    def on_draft_loaded(self, event: messages.DraftLoaded) -> None:
        """A draft for the preview that is open."""
        if isinstance(self.screen, DraftScreen) and self.screen.finding_id == event.finding_id:
            self.screen.show(event.view)

    # many

    def on_export_screen_look_wanted(self, event: ExportScreen.LookWanted) -> None:
        """The findings of the export, as they are now."""
        self._load_exports(event.ids)

    def _load_exports(self, ids: Sequence[int]) -> None:
        wanted = tuple(ids)

        def load() -> messages.ExportsLoaded | None:
            worker = get_current_worker()
            for start in range(0, len(wanted), AT_ONCE):
                part = wanted[start : start + AT_ONCE]
                asked = {i: self.source.exportable(i) for i in part}
                if worker.is_cancelled:
                    return None
                found = [e for e in asked.values() if e is not None]
                self.post_message(messages.ExportsLoaded(found, [i for i, e in asked.items() if e is None]))
            return None

        self._ask("exports", load)

    @while_up
    def on_exports_loaded(self, event: messages.ExportsLoaded) -> None:
        """Some of them, for the list that is open."""
        if isinstance(self.screen, ExportScreen):
            self.screen.show(event)

    def on_export_screen_gates_wanted(self, event: ExportScreen.GatesWanted) -> None:
        """Queue their gates."""
        self._write(lambda: self.writer.queue(JobKind.GATES, event.ids))

    def on_export_screen_draft_wanted(self, event: ExportScreen.DraftWanted) -> None:
        """The draft of one of them."""
        self._show_draft(event.finding_id)

    def on_export_screen_write_wanted(self, event: ExportScreen.WriteWanted) -> None:
        """Write their files; asking a subprocess for the versions takes seconds."""

        def write() -> str:
            exported = self.writer.export_many(event.ids, event.folder, forced=event.forced)
            self.post_message(messages.ExportsWritten(exported))
            if not exported.written:
                raise WorkbenchError(told(exported))
            return told(exported)

        self._write(write)

    @while_up
    def on_exports_written(self, event: messages.ExportsWritten) -> None:
        """What is written is done with; what is not stays marked."""
        self.findings.unmark(event.exported.written)
        if isinstance(self.screen, ExportScreen):
            self.screen.tell(event.exported)
