"""Programs that a person edits: opens the editor, queues what it gives, and says what came of it. Nothing is judged here."""

from __future__ import annotations

from pathlib import Path

from textual.app import SuspendNotSupported

from store import times
from store.rows import Job, JobKind, JobState
from workbench.errors import WorkbenchError
from workbench.triage import messages
from workbench.triage.actions import Actions
from workbench.triage.editor import edit
from workbench.triage.threads import while_up

LOOKED_AT = 20
"""Jobs that ended last, looked at whenever somebody commits."""


class Edits(Actions):
    """Editing the program that is shown."""

    def __init__(self, path: Path, *, query: str, folder: Path | None, tabs_path: Path | None) -> None:
        super().__init__(path, query=query, folder=folder, tabs_path=tabs_path)
        self._told_until = times.now()

    def action_edit(self) -> None:
        """Open the program in $EDITOR; a changed text is queued to be judged as a program of its own."""
        if self.shown_program() is None:
            return
        source, finding = self.pane.editable(), self.findings.current
        if source is None or finding is None:
            return
        edited, trouble = source, ""
        try:
            with self.suspend():  # what is raised in here would leave the terminal to nobody
                try:
                    edited = edit(source, f"finding_{finding}.py")
                except WorkbenchError as error:
                    trouble = f"✗ {error.message} — {error.hint}"
        except SuspendNotSupported:
            trouble = "✗ no editor in a browser: y copies the program"
        if trouble:
            self.status.say(trouble)
        elif edited == source:
            self.status.say("unchanged: nothing was queued")
        else:
            self._write(lambda: self.writer.edit(finding, edited, self.folder))

    def refresh_edits(self) -> None:
        """Somebody committed: perhaps an edit was judged."""
        self._ask("edits", lambda: messages.EditsEnded(self.source.ask(lambda s: s.jobs(limit=LOOKED_AT, kind=JobKind.EDIT))))

    @while_up
    def on_edits_ended(self, event: messages.EditsEnded) -> None:
        """Say what came of the edits that ended since the last look, each once."""
        news = [job for job in event.jobs if job.finished is not None and job.finished > self._told_until]
        if news:
            self._told_until = max(job.finished or "" for job in news)
            self.said(told(news[0]) + (f" (and {len(news) - 1} more: w shows them)" if len(news) > 1 else ""))


def told(job: Job) -> str:
    """What came of an edit, in a line."""
    if job.state is JobState.FAILED:
        return f"✗ edit of finding {job.finding_id}: {job.reason}; its text: workbench show {job.finding_id} --edit {job.id}"
    result = job.result or {}
    if "became" in result:
        return f"✓ edit of finding {job.finding_id}: {result['verdict']}, now finding {result['became']}"
    return f"✓ edit of finding {job.finding_id}: {result.get('verdict')}, {result.get('reason')}; no finding, its history tells"
