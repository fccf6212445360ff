"""Reading the store for the screen: read-only stores of its own, used in threads only. Never writes, never creates a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from store import Store, open_store
from store.records import LADDER
from store.rows import FindingRow, JobKind, JobState
from workbench.errors import NotFoundError, StoreError
from workbench.export.draft import draft
from workbench.export.gates import stored_report, subject_of, unrun
from workbench.triage.messages import Detail, DraftView, Exportable

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds to wait for another process's lock; the screen stays usable meanwhile, and the poll tries again."""


class Source:
    """Two read-only stores on one file: one for pages and details, one for queries, so that a slow query does not hold up the list."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows = _Reader(path)
        self._queries = _Reader(path)
        self._seen: tuple[int, int] | None = None

    def close(self) -> None:
        """Let go of the file."""
        self._rows.close()
        self._queries.close()

    def ids(self, text: str, order: str) -> tuple[list[int], int]:
        """Ids that match, in order, and how many findings there are in all."""

        def ask(store: Store) -> tuple[list[int], int]:
            ids = store.ids(text, order)
            return ids, store.count() if text.strip() else len(ids)

        return self._queries.ask(ask)

    def rows(self, ids: Sequence[int]) -> list[FindingRow]:
        """The rows of a page; those that are gone are left out."""
        return self._rows.ask(lambda store: store.rows(ids))

    def ask(self, question: Callable[[Store], T]) -> T:
        """Any other question, not before the queries that wait."""
        return self._queries.ask(question)

    def detail(self, finding_id: int) -> Detail | None:
        """Everything about one finding, or None when it is gone."""

        def ask(store: Store) -> Detail:
            row = store.finding(finding_id)
            runs = store.runs(finding_id)
            rungs = next((run for run in runs if run.purpose == "ladder"), None)
            jobs = store.jobs(limit=200, finding=finding_id)
            return Detail(
                row=row,
                program=store.program(finding_id),
                reduced=store.reduced(finding_id),
                verdict=store.verdict(finding_id),
                reduced_verdict=store.reduced_verdict(finding_id),
                bucket=store.bucket(row.bucket),
                members=tuple(store.ids(f"bucket:{row.bucket}", "id")[:50]),
                events=tuple(store.events(finding_id, 200)),
                runs=tuple(runs),
                ladder=store.run_verdict(rungs.id) if rungs else None,
                jobs=tuple(jobs),
            )

        try:
            return self._rows.ask(ask)
        except NotFoundError:
            return None

    def draft(self, finding_id: int) -> DraftView:
        """The draft with the gates as far as they have been run; nothing is run here."""

        def ask(store: Store) -> DraftView:
            subject = subject_of(store, finding_id)
            report = stored_report(store, subject) or unrun(subject)
            runs = [r for r in store.runs(finding_id) if r.configuration.get("backend", "inductor") in LADDER.values()]
            return DraftView(draft(subject, report, None, runs=runs, forced=True), report, _waiting(store, finding_id) is not None)

        return self._rows.ask(ask)

    def exportable(self, finding_id: int) -> Exportable | None:
        """One of many findings to export, or None when it is gone."""

        def ask(store: Store) -> Exportable:
            subject = subject_of(store, finding_id)
            return Exportable(subject.row, stored_report(store, subject) or unrun(subject), _waiting(store, finding_id))

        try:
            return self._queries.ask(ask)
        except NotFoundError:
            return None

    def working(self) -> tuple[int, int, int]:
        """(live workers, jobs that they hold, jobs that wait); what a dead worker held waits again, for whoever claims it."""

        def ask(store: Store) -> tuple[int, int, int]:
            workers = store.workers()
            held = sum(len(worker.jobs) for worker in workers)
            return len(workers), held, len(store.jobs(JobState.RUNNING)) - held + len(store.jobs(JobState.QUEUED))

        return self._rows.ask(ask)

    def changed(self) -> bool:
        """Whether somebody committed since the last call, or the file is another one; the first call says True.

        StoreError when the file is gone or cannot be used.
        """
        try:
            inode = self.path.stat().st_ino
        except OSError as error:
            self._seen = None
            self.close()
            raise StoreError(f"{self.path}: the store is not there", "it is shown again as soon as it is back; q quits") from error
        if self._seen is not None and self._seen[0] != inode:
            self.close()
        seen = (inode, self._queries.ask(lambda store: store.data_version()))
        changed, self._seen = seen != self._seen, seen
        return changed


def _waiting(store: Store, finding_id: int) -> JobState | None:
    """Whether the finding's gates are queued or running, or neither."""
    states = [job.state for job in store.jobs(kind=JobKind.GATES, finding=finding_id)]
    return next((state for state in (JobState.RUNNING, JobState.QUEUED) if state in states), None)


class _Reader:
    """One read-only store, opened on first use and again after an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._store: Store | None = None

    def ask(self, question: Callable[[Store], T]) -> T:
        with self._lock:
            if self._store is None:
                self._store = open_store(self._path, readonly=True, timeout=PATIENCE)
            try:
                return question(self._store)
            except StoreError:
                self.close()
                raise

    def close(self) -> None:
        with self._lock:
            if self._store is not None:
                self._store.close()
                self._store = None
