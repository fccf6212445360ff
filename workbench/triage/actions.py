"""What is done to findings from the list: states, labels, deleting, queueing, undo and copy. Asks, then hands the change to a thread worker."""

from __future__ import annotations

from pathlib import Path

from store.rows import JobKind
from workbench.triage.detail import DetailPane
from workbench.triage.dialogs import ConfirmDialog, LabelAnswer, LabelDialog, StateAnswer, StateDialog
from workbench.triage.finding_list import FindingList
from workbench.triage.views import Views


class Actions(Views):
    """Changes of what is marked and shown, else of the finding under the cursor. ``folder``: where files are written."""

    def __init__(self, path: Path, *, query: str, folder: Path | None, tabs_path: Path | None) -> None:
        super().__init__(path, query=query, tabs_path=tabs_path)
        self.folder = folder or Path.cwd()
        self.findings = FindingList(id="findings")
        self.pane = DetailPane(id="detail")

    def action_undo(self) -> None:
        """Take back the last change."""
        self._write(self.writer.undo)

    def action_redo(self) -> None:
        """Do it again."""
        self._write(self.writer.redo)

    def action_label(self) -> None:
        """Ask for labels."""
        ids, asked = self.chosen("Label")
        if not ids:
            return
        row = self.findings.current_row
        current = row.labels if row and len(ids) == 1 else ()

        def answered(answer: LabelAnswer | None) -> None:
            if answer:
                self._write(lambda: self.writer.label(ids, answer.add, answer.remove))

        self.push_screen(LabelDialog(asked, current, self._known_labels()), answered)

    def _known_labels(self) -> list[str]:
        return sorted({label for row in self.findings.loaded() for label in row.labels})

    def action_state(self) -> None:
        """Ask for a state."""
        ids, asked = self.chosen("State of")
        if not ids:
            return
        row = self.findings.current_row

        def answered(answer: StateAnswer | None) -> None:
            if answer:
                self._write(lambda: self.writer.state(ids, answer.state, answer.why, answer.duplicate_of))

        self.push_screen(StateDialog(asked, row.state if row and len(ids) == 1 else None), answered)

    def action_delete(self) -> None:
        """Ask, then delete."""
        ids, asked = self.chosen("Delete")
        if not ids:
            return

        def answered(yes: bool | None) -> None:  # noqa: FBT001 - Textual calls it
            if yes:
                self._write(lambda: self.writer.delete(ids))

        self.push_screen(ConfirmDialog(f"{asked}? Undo brings back."), answered)

    def action_reduce(self) -> None:
        """Queue reductions."""
        self._queue(JobKind.REDUCE, "Reduce")

    def action_recheck(self) -> None:
        """Queue re-checks; with the ladder where the finding has none."""
        detail = self.pane.detail
        without = detail is not None and detail.row.id == self.findings.current and not detail.laddered.ladder
        self._queue(JobKind.LADDER if without else JobKind.RECHECK, "Re-check")

    def action_gates(self) -> None:
        """Queue the gates, also of many at once."""
        self._queue(JobKind.GATES, "Run the gates of")

    def action_grid(self) -> None:
        """Queue the configuration grid."""
        self._queue(JobKind.GRID, "Fill the grid of")

    def _queue(self, kind: JobKind, verb: str) -> None:
        ids, asked = self.chosen(verb)
        if ids:
            self.status.say(f"… {asked}")
            self._write(lambda: self.writer.queue(kind, ids))

    def chosen(self, verb: str) -> tuple[list[int], str]:
        """What an action is done to, and the words for it: how many, and how many marks the filter hides."""
        ids, hidden = self.findings.targets()
        if not ids:
            self.status.say("✗ nothing is marked and shown, so nothing was done" if hidden else "✗ no finding is chosen")
            return [], ""
        what = f"finding {ids[0]}" if len(ids) == 1 else f"{len(ids)} marked findings"
        left = f" ({hidden} more marked, hidden by the filter: not touched)" if hidden else ""
        return ids, f"{verb} {what}{left}"

    def action_copy(self) -> None:
        """Copy the program that is shown."""
        source = self.shown_program()
        if source is not None:
            self.copy_to_clipboard(source)
            self.status.say("✓ program copied, where the terminal takes it (OSC 52)")

    def shown_program(self) -> str | None:
        """The program that is shown, if it is that of the finding under the cursor: the pane follows a moment later."""
        detail = self.pane.detail
        if self.findings.current is None:
            self.status.say("✗ no finding is chosen")
        elif detail is None or detail.row.id != self.findings.current:
            self.status.say("✗ the program is not here yet; press it again")
        else:
            return self.pane.source()
        return None
