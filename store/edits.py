"""What came of a program that a person edited, as history: of the finding it was made from and of the one it became. Nobody can undo it."""

from __future__ import annotations

import sqlite3

from store import changes
from store.events import new_step
from store.records import JSON
from store.rows import Event, Job

EDITED = "edited"
"""Kind of these events."""

INTO, FROM = "into", "from"
"""Findings that they name: the one that the edit became, the one that it was made from. None: it is in no store that knows of it."""

JOB = "job"
"""The job that keeps the text."""


def tell(c: sqlite3.Connection, job: Job, outcome: str, reason: str, *, into: int | None) -> None:
    """One event in the history of the finding that was edited, one in that of ``into``, if that is another; also where one was deleted meanwhile."""
    if job.finding_id is None:
        raise ValueError(f"job {job.id} names no finding")
    changes.current(c, [job.finding_id, *([] if into is None else [into])], (), deleted=True)
    step = new_step(c, job.actor, reason, undoable=False)
    told: dict[str, JSON] = {"verdict": outcome, JOB: job.id}
    step.record(c, EDITED, job.finding_id, {}, told if into is None else {**told, INTO: into})
    if into is not None and into != job.finding_id:
        step.record(c, EDITED, into, {}, {FROM: job.finding_id})


def made_from(history: list[Event] | tuple[Event, ...]) -> int | None:
    """The finding from which the finding with this history was edited first, if it was and that one is known here."""
    sources = [event.after[FROM] for event in history if event.kind == EDITED and event.after.get(FROM) is not None]
    return int(sources[-1]) if sources else None
