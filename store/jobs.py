"""Jobs: leased rows. Who claims one holds it for some seconds and renews; what a dead worker held is claimed again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from store import changes, times
from store.records import JSON, canonical
from store.rows import Job, JobKind, JobState, Reduction, Worker

ATTEMPTS = 3
"""A job that so many workers took and never finished kills them: it fails."""


def enqueue(c: sqlite3.Connection, kind: JobKind, finding_id: int | None, payload: Mapping[str, JSON], *, actor: str, priority: int) -> int:
    """Queue a job unless an equal one is open; of reductions, one a finding whatever the payload."""
    text = canonical(dict(payload))
    if finding_id is not None:
        changes.current(c, [finding_id], ())
    row = c.execute(
        """SELECT id FROM jobs WHERE kind = ? AND finding_id IS ? AND state IN ('queued', 'running') AND (kind = 'reduce' OR payload = ?)""",
        (kind.value, finding_id, text),
    ).fetchone()
    if row is not None:
        return int(row[0])
    cursor = c.execute(
        "INSERT INTO jobs (kind, finding_id, payload, state, priority, actor, created) VALUES (?, ?, ?, 'queued', ?, ?, ?)",
        (kind.value, finding_id, text, priority, actor, times.now()),
    )
    _show(c, kind, finding_id, Reduction.QUEUED)
    return int(cursor.lastrowid or 0)


def claim(c: sqlite3.Connection, kinds: Sequence[JobKind], worker: str, lease_seconds: float) -> Job | None:
    """The next job by priority, then age."""
    now, until = times.now(), times.now(lease_seconds)
    _announce(c, worker, now, until)
    _give_up(c, now)
    marks = ", ".join("?" * len(kinds))
    row = c.execute(
        f"""UPDATE jobs SET state = 'running', worker = ?, lease_until = ?, started = ?, attempts = attempts + 1
            WHERE id = (
                SELECT j.id FROM jobs j LEFT JOIN findings f ON f.id = j.finding_id
                WHERE j.kind IN ({marks}) AND f.deleted IS NULL
                  AND (j.state = 'queued' OR (j.state = 'running' AND j.lease_until < ?))
                ORDER BY j.priority DESC, j.id LIMIT 1)
            RETURNING *""",
        [worker, until, now, *(kind.value for kind in kinds), now],
    ).fetchall()
    if not row:
        return None
    job = _as_job(row[0])
    _show(c, job.kind, job.finding_id, Reduction.RUNNING)
    return job


def renew(c: sqlite3.Connection, job: Job, worker: str, lease_seconds: float) -> bool:
    """Hold it longer, if it is still held."""
    until = times.now(lease_seconds)
    _announce(c, worker, times.now(), until)
    cursor = c.execute("UPDATE jobs SET lease_until = ? WHERE id = ? AND state = 'running' AND worker = ?", (until, job.id, worker))
    return cursor.rowcount == 1


def release(c: sqlite3.Connection, job: Job) -> bool:
    """Back into the queue, as if it had not been claimed."""
    cursor = c.execute(
        """UPDATE jobs SET state = 'queued', worker = NULL, lease_until = NULL, attempts = attempts - 1
           WHERE id = ? AND state = 'running' AND worker IS ?""",
        (job.id, job.worker),
    )
    if cursor.rowcount:
        _show(c, job.kind, job.finding_id, Reduction.QUEUED)
    return cursor.rowcount == 1


def finish(c: sqlite3.Connection, job: Job, result: Mapping[str, JSON]) -> bool:
    """Done, if it is still held."""
    cursor = c.execute(
        "UPDATE jobs SET state = 'done', finished = ?, result = ?, lease_until = NULL WHERE id = ? AND state = 'running' AND worker IS ?",
        (times.now(), canonical(dict(result)), job.id, job.worker),
    )
    if cursor.rowcount:
        _show(c, job.kind, job.finding_id, Reduction.DONE)
    return cursor.rowcount == 1


def fail(c: sqlite3.Connection, job: Job, reason: str) -> bool:
    """Failed, if it is still held."""
    cursor = c.execute(
        "UPDATE jobs SET state = 'failed', finished = ?, reason = ?, lease_until = NULL WHERE id = ? AND state = 'running' AND worker IS ?",
        (times.now(), reason, job.id, job.worker),
    )
    if cursor.rowcount:
        _show(c, job.kind, job.finding_id, Reduction.FAILED)
    return cursor.rowcount == 1


def leave(c: sqlite3.Connection, worker: str) -> None:
    """A worker ends: nothing is held by it any more."""
    for row in c.execute("SELECT * FROM jobs WHERE state = 'running' AND worker = ?", (worker,)).fetchall():
        release(c, _as_job(row))
    c.execute("DELETE FROM workers WHERE name = ?", (worker,))


def listed(
    c: sqlite3.Connection,
    state: JobState | None = None,
    limit: int | None = None,
    *,
    kind: JobKind | None = None,
    finding_id: int | None = None,
) -> list[Job]:
    """Jobs, those that ended, began or were queued last first: an import brings old ones under new numbers."""
    wanted = {"state": state, "kind": kind, "finding_id": finding_id}
    asked = {name: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in asked) or "1"
    sql = f"SELECT * FROM jobs WHERE {where} ORDER BY coalesce(finished, started, created) DESC, id DESC LIMIT ?"
    return [_as_job(row) for row in c.execute(sql, [*asked.values(), -1 if limit is None else limit])]


def workers(c: sqlite3.Connection) -> list[Worker]:
    """Workers within their lease, with the jobs they hold."""
    now = times.now()
    held: dict[str, list[int]] = {}
    for row in c.execute("SELECT id, worker FROM jobs WHERE state = 'running' AND lease_until >= ? ORDER BY id", (now,)):
        held.setdefault(row["worker"], []).append(row["id"])
    found = c.execute("SELECT * FROM workers WHERE lease_until >= ? ORDER BY id", (now,)).fetchall()
    return [Worker(row["name"], row["started"], row["lease_until"], tuple(held.get(row["name"], ()))) for row in found]


def _announce(c: sqlite3.Connection, worker: str, now: str, until: str) -> None:
    c.execute("DELETE FROM workers WHERE lease_until < ? AND name <> ?", (now, worker))
    c.execute(
        """INSERT INTO workers (name, started, lease_until) VALUES (?, ?, ?)
           ON CONFLICT (name) DO UPDATE SET lease_until = max(lease_until, excluded.lease_until)""",
        (worker, now, until),
    )


def _give_up(c: sqlite3.Connection, now: str) -> None:
    """Jobs whose last worker died too, like those before it."""
    dead = c.execute("SELECT * FROM jobs WHERE state = 'running' AND lease_until < ? AND attempts >= ?", (now, ATTEMPTS)).fetchall()
    for row in dead:
        fail(c, _as_job(row), f"{ATTEMPTS} workers took it and none finished; the last was {row['worker']}")


def _show(c: sqlite3.Connection, kind: JobKind, finding_id: int | None, reduction: Reduction) -> None:
    """A reduction's progress is a column of its finding."""
    if kind is JobKind.REDUCE and finding_id is not None:
        c.execute("UPDATE findings SET reduction = ? WHERE id = ?", (reduction.value, finding_id))


def _as_job(row: sqlite3.Row) -> Job:
    return Job(
        id=row["id"],
        kind=JobKind(row["kind"]),
        finding_id=row["finding_id"],
        payload=json.loads(row["payload"]),
        state=JobState(row["state"]),
        actor=row["actor"],
        worker=row["worker"],
        lease_until=row["lease_until"],
        attempts=row["attempts"],
        created=row["created"],
        started=row["started"],
        finished=row["finished"],
        result=json.loads(row["result"]) if row["result"] else None,
        reason=row["reason"],
    )
