"""Changing columns of findings with their history and all that follows: the search index, the leaders of buckets.

Every change a person can take back goes through here, so that undo is one function and not one per verb.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

from store import leaders, search
from store.errors import NotFoundError
from store.events import Step
from store.records import JSON

COLUMNS = frozenset({"state", "duplicate_of", "fixed_torch", "assignee", "title", "deleted", "bucket_id", "verified", "verified_runs"})
"""What events may set and undo may set back."""

_LEADING = frozenset({"state", "deleted", "bucket_id", "verified", "verified_runs"})
_CHUNK = 500


def change(c: sqlite3.Connection, step: Step, kind: str, ids: Sequence[int], values: Mapping[str, JSON]) -> list[int]:
    """Set the same ``values`` on findings; returns those that changed. A finding that has them already gets no event."""
    changed: list[int] = []
    left: set[int] = set()
    for row in current(c, ids, tuple(values)):
        before = {name: row[name] for name in values}
        if before != dict(values):
            changed.append(row["id"])
            left |= {before["bucket_id"]} if "bucket_id" in before else set()
            put(c, step, kind, row["id"], before, values)
    settle(c, changed, values, left_buckets=left)
    return changed


def put(c: sqlite3.Connection, step: Step, kind: str, finding_id: int, before: Mapping[str, JSON], after: Mapping[str, JSON]) -> None:
    """One finding's change and its event, without what follows (``settle``)."""
    unknown = set(after) - COLUMNS
    if unknown:
        raise ValueError(f"not columns that events may set: {sorted(unknown)}")
    names = list(after)
    c.execute(f"UPDATE findings SET {', '.join(f'{n} = ?' for n in names)} WHERE id = ?", [*(after[n] for n in names), finding_id])
    step.record(c, kind, finding_id, {n: before[n] for n in names}, after)


def settle(c: sqlite3.Connection, ids: Sequence[int], names: Iterable[str], *, left_buckets: Iterable[int] = ()) -> None:
    """Bring the search index and the leaders in line after columns ``names`` of these findings have changed."""
    names = set(names)
    if "title" in names:
        for finding_id in ids:
            search.index(c, finding_id)
    if names & _LEADING:
        touched = {
            row[0] for part in _parts(ids) for row in c.execute(f"SELECT bucket_id FROM findings WHERE id IN ({_marks(part)})", part)
        }
        leaders.refresh(c, touched | set(left_buckets))


def current(c: sqlite3.Connection, ids: Sequence[int], names: Sequence[str], *, deleted: bool = False) -> list[sqlite3.Row]:
    """``id`` and these columns of findings, in the order of ``ids``; NotFoundError names the first that is gone (or deleted)."""
    wanted = list(dict.fromkeys(ids))
    hidden = "" if deleted or "deleted" in names else "AND deleted IS NULL"
    columns = ", ".join(["id", *names])
    found = {
        row["id"]: row
        for part in _parts(wanted)
        for row in c.execute(f"SELECT {columns} FROM findings WHERE id IN ({_marks(part)}) {hidden}", part)
    }
    for finding_id in wanted:
        if finding_id not in found:
            raise missing(finding_id)
    return [found[finding_id] for finding_id in wanted]


def missing(finding_id: int) -> NotFoundError:
    """The error for a finding that is not there."""
    return NotFoundError(f"no finding {finding_id}", "`workbench list` shows what there is; a deleted one comes back with undo")


def _parts(ids: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), _CHUNK):
        yield list(ids[start : start + _CHUNK])


def _marks(part: Sequence[int]) -> str:
    return ", ".join("?" * len(part))
