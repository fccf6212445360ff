"""Changes to the store, each in one short call of its own: open, change, close. Used in threads; says in words what it did."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from store import Store, open_store
from store.records import State
from store.rows import JobKind
from workbench.commands.changes import actor
from workbench.errors import ProgramError, StoreError, WorkbenchError
from workbench.export.draft import draft
from workbench.export.environment import Environment, environment
from workbench.export.files import write_draft, write_new
from workbench.export.gates import stored_report, subject_of, unrun
from workbench.programs import parse_program
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

    def edit(self, finding: int, source: str, folder: Path) -> str:
        """Queue an edited program to be judged, and start a worker when none is alive. What is no program, or cannot be queued, is kept as a file."""
        name = f"finding-{finding}-edited.py"
        try:
            parse_program(source, name)
            with self._open() as store:
                job = store.enqueue(JobKind.EDIT, finding, {"program": source}, actor=actor())
                alive = bool(store.workers())
        except WorkbenchError as error:
            kept = _kept(folder, name, source)
            if isinstance(error, ProgramError):  # where the text is comes first: the line on the screen is cut on the right
                where = error.message.removeprefix(name)
                raise WorkbenchError(f"edit kept as {kept}{where}", f"mend it: workbench check --save {kept}") from error
            raise WorkbenchError(f"edit kept as {kept}: {error.message}", error.hint) from error
        started = "" if alive else f"; {start_worker(self.path)}"
        return f"edit of finding {finding} queued as job {job}{started}"

    def _open(self) -> Store:
        if not self.path.exists():
            raise StoreError(f"{self.path}: the store is not there", "nothing was changed")
        return open_store(self.path, timeout=PATIENCE)


def _count(ids: Sequence[int]) -> str:
    return f"finding {ids[0]}" if len(ids) == 1 else f"{len(ids)} findings"


def _kept(folder: Path, name: str, source: str) -> str:
    """Where a text is now: in the folder, or in one of its own where that cannot be written."""
    try:
        return write_new(folder / name, source).name
    except WorkbenchError:
        return str(write_new(Path(tempfile.mkdtemp(prefix="triage-edited-")) / name, source))
