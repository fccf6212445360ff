"""The part of a store object that is about jobs and the workers that take them. It only opens transactions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from store import edits, jobs
from store.handle import Handle
from store.records import JSON
from store.rows import Job, JobKind, JobState, Worker


class WithJobs(Handle):
    """Jobs and workers of a store."""

    def enqueue(
        self, kind: JobKind | str, finding_id: int | None, payload: Mapping[str, JSON] | None = None, *, actor: str, priority: int = 0
    ) -> int:
        """Queue a job and return its id; an equal one that still waits or runs is not queued twice (a finding is reduced once at a time)."""
        with self._connection.write() as c:
            return jobs.enqueue(c, JobKind(kind), finding_id, payload or {}, actor=actor, priority=priority)

    def claim(self, kinds: Sequence[JobKind | str], worker: str, lease_seconds: float = 60) -> Job | None:
        """Take the next job for ``worker``, or None; a job whose lease has expired is taken again, three times at most.

        Also announces the worker, so that an idle one is seen by ``workers``.
        """
        with self._connection.write() as c:
            return jobs.claim(c, [JobKind(k) for k in kinds], worker, lease_seconds)

    def renew(self, job: Job, worker: str, lease_seconds: float = 60) -> bool:
        """Keep a job for ``lease_seconds`` from now; False when it is no longer this worker's: stop and drop the result."""
        with self._connection.write() as c:
            return jobs.renew(c, job, worker, lease_seconds)

    def release(self, job: Job) -> bool:
        """Put an unfinished job back (the worker was interrupted); False when it was no longer this worker's."""
        with self._connection.write() as c:
            return jobs.release(c, job)

    def finish(self, job: Job, result: Mapping[str, JSON] | None = None) -> bool:
        """The job is done; False when it was no longer this worker's."""
        with self._connection.write() as c:
            return jobs.finish(c, job, result or {})

    def fail(self, job: Job, reason: str) -> bool:
        """The job cannot be done; False when it was no longer this worker's."""
        with self._connection.write() as c:
            return jobs.fail(c, job, reason)

    def tell_edit(self, job: Job, outcome: str, reason: str, *, into: int | None = None) -> None:
        """Tell what judging an edited program gave, in the history of the finding it was made from and of the finding ``into`` that it became."""
        with self._connection.write() as c:
            edits.tell(c, job, outcome, reason, into=into)

    def jobs(
        self,
        state: JobState | str | None = None,
        limit: int | None = None,
        *,
        kind: JobKind | str | None = None,
        finding: int | None = None,
    ) -> list[Job]:
        """Jobs, newest first (by when they ended, else began, else were queued); of one kind, or about one finding."""
        with self._connection.read() as c:
            return jobs.listed(
                c,
                None if state is None else JobState(state),
                limit,
                kind=None if kind is None else JobKind(kind),
                finding_id=finding,
            )

    def workers(self) -> list[Worker]:
        """Workers that were heard of within their lease."""
        with self._connection.read() as c:
            return jobs.workers(c)

    def leave(self, worker: str) -> None:
        """A worker ends: its jobs go back into the queue at once."""
        with self._connection.write() as c:
            jobs.leave(c, worker)
