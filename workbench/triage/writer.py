"""Changes to the store, each in one short call of its own: open, change, close. Used in threads; says in words what it did."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from store import Store, open_store
from store.records import State
from store.rows import JobKind
from workbench.commands.changes import actor
from workbench.errors import StoreError, WorkbenchError
from workbench.export.draft import draft
from workbench.export.environment import Environment, environment
from workbench.export.files import write_draft, write_new
from workbench.export.gates import stored_report, subject_of, unrun
from workbench.triage.detached import start_campaign, start_worker
from workbench.triage.messages import Exported

PATIENCE = 5.0
"""Seconds to wait for another process's transaction before saying so."""


class Writer:
    """What a person can change. Every method returns a sentence for the status line and may raise WorkbenchError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def label(self, ids: Sequence[int], add: Sequence[str], remove: Sequence[str]) -> str:
        """Put labels on and take them off."""
        with self._open() as store:
            changed = store.label(ids, add, remove, actor=actor())
        signs = " ".join([*(f"+{a}" for a in add), *(f"-{r}" for r in remove)])
        return f"labels {signs}: {_count(changed)} changed"

    def state(self, ids: Sequence[int], state: State, why: str, duplicate_of: int | None) -> str:
        """Set the state."""
        with self._open() as store:
            changed = store.set_state(ids, state, actor=actor(), why=why, duplicate_of=duplicate_of)
        return f"state {state}: {_count(changed)} changed"

    def merge(self, into: int, others: Sequence[int]) -> str:
        """Merge buckets."""
        with self._open() as store:
            moved = store.merge_buckets(into, others, actor=actor(), why="merged by hand")
        return f"{_count(moved)} moved into bucket {into}; u takes it back"

    def split(self, ids: Sequence[int]) -> str:
        """Move findings into a bucket of their own."""
        with self._open() as store:
            bucket = store.split(ids, actor=actor(), why="split by hand")
        return f"{_count(ids)} split off into bucket {bucket}; u takes it back"

    def duplicates(self, original: int, ids: Sequence[int]) -> str:
        """Call findings duplicates of another."""
        with self._open() as store:
            changed = store.set_state(ids, State.DUPLICATE, actor=actor(), why="same bucket", duplicate_of=original)
        return f"{_count(changed)} set to duplicate of {original}; u takes it back"

    def fold(self, buckets: Sequence[int]) -> str:
        """In each bucket, call what is still to be decided a duplicate of the leader."""
        with self._open() as store:
            changed = store.fold(buckets, actor=actor(), why="same bucket")
        return f"{_count(changed)} set to duplicate of their leaders; u takes it back"

    def stop(self, campaign: int) -> str:
        """Ask a campaign to stop."""
        with self._open() as store:
            asked = store.stop_campaign(campaign)
        return f"campaign {campaign} is asked to stop" if asked else f"campaign {campaign} has ended already"

    def start_worker(self) -> str:
        """Start a worker that outlives the screen."""
        return start_worker(self.path)

    def start_campaign(self, words: Sequence[str]) -> str:
        """Start a campaign that outlives the screen."""
        return start_campaign(self.path, words)

    def delete(self, ids: Sequence[int]) -> str:
        """Hide findings; undo brings them back."""
        with self._open() as store:
            changed = store.delete(ids, actor=actor())
        return f"{_count(changed)} deleted; u brings back"

    def undo(self) -> str:
        """Take back this person's last change."""
        with self._open() as store:
            return store.undo(actor()) or "nothing to undo"

    def redo(self) -> str:
        """Do again what was undone last."""
        with self._open() as store:
            return store.redo(actor()) or "nothing to redo"

    def queue(self, kind: JobKind, ids: Sequence[int]) -> str:
        """Queue jobs, and start a worker when none is alive."""
        with self._open() as store:
            with store.together():
                for finding in ids:
                    store.enqueue(kind, finding, {}, actor=actor())
            alive = bool(store.workers())
        started = "" if alive else f"; {start_worker(self.path)}"
        return f"{kind} queued for {_count(ids)}{started}"

    def export(self, finding: int, folder: Path, *, forced: bool) -> str:
        """Write the draft and its repro into ``folder``; the versions are asked of a subprocess."""
        with self._open() as store:
            subject = subject_of(store, finding)
            report = stored_report(store, subject) or unrun(subject)
            runs = store.runs(finding)
        written = write_draft(draft(subject, report, environment(), runs=runs, forced=forced), folder)
        return f"wrote {', '.join(str(p) for p in written)}"

    def export_many(self, ids: Sequence[int], folder: Path, *, forced: bool) -> Exported:
        """Write the drafts of those whose gates are met (``forced``: of all) into ``folder``; one that fails keeps no other from being written."""
        written: dict[int, tuple[Path, ...]] = {}
        refused: dict[int, str] = {}
        versions: Environment | None = None
        for finding in ids:
            try:
                with self._open() as store:
                    subject = subject_of(store, finding)
                    report = stored_report(store, subject) or unrun(subject)
                    runs = store.runs(finding)
                if report.unmet and not forced:
                    refused[finding] = "; ".join(f"{gate.sign} {gate.name}" for gate in report.unmet)
                    continue
                versions = versions or environment()
                written[finding] = tuple(write_draft(draft(subject, report, versions, runs=runs, forced=forced), folder))
            except WorkbenchError as error:
                refused[finding] = error.message
        return Exported(folder, written, refused)

    def save_edit(self, finding: int, source: str, folder: Path) -> str:
        """Keep an edited program as a file; judging it is a command of its own, as nothing is run here."""
        path = write_new(folder / f"finding-{finding}-edited.py", source)
        return f"kept as {path.name}: workbench check --save {path.name}"

    def _open(self) -> Store:
        if not self.path.exists():
            raise StoreError(f"{self.path}: the store is not there", "nothing was changed")
        return open_store(self.path, timeout=PATIENCE)


def _count(ids: Sequence[int]) -> str:
    return f"finding {ids[0]}" if len(ids) == 1 else f"{len(ids)} findings"
