"""The append-only history. Every change of a finding is an event; events of one action share a step, which is what undo takes back.

``undo`` and ``redo`` are in ``store.undo``: they append steps too, so that nothing is ever rewritten (a trigger forbids it).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from store import times
from store.records import JSON, canonical
from store.rows import Event


@dataclass(frozen=True, slots=True)
class Step:
    """One action being recorded. ``undoes``: the step it takes back; then it is itself no object of undo."""

    number: int
    actor: str
    why: str = ""
    at: str = ""
    undoes: int | None = None
    undoable: bool = True

    def record(
        self, c: sqlite3.Connection, kind: str, finding_id: int | None, before: Mapping[str, JSON], after: Mapping[str, JSON]
    ) -> None:
        """Append one event of this step."""
        c.execute(
            """INSERT INTO events (step, at, actor, finding_id, kind, before, after, why, undoable, undoes)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                self.number, self.at, self.actor, finding_id, kind, canonical(before), canonical(after), self.why,
                int(self.undoable and self.undoes is None), self.undoes,
            ),
        )  # fmt: skip


def new_step(c: sqlite3.Connection, actor: str, why: str = "", *, undoes: int | None = None, undoable: bool = True) -> Step:
    """Begin an action; inside a write transaction, so that no other process takes the same number."""
    last = c.execute("SELECT max(step) FROM events").fetchone()[0] or 0
    return Step(last + 1, _storable(actor), _storable(why), times.now(), undoes, undoable)


def _storable(text: str) -> str:
    """Bytes of a command line that are no text must not cost the change they explain."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "?")


def history(c: sqlite3.Connection, finding_id: int | None, limit: int | None) -> list[Event]:
    """Events of one finding by time, or of all as they came (an import brings older ones), newest first."""
    where, params, order = ("WHERE finding_id = ?", [finding_id], "at DESC, id DESC") if finding_id is not None else ("", [], "id DESC")
    found = c.execute(f"SELECT * FROM events {where} ORDER BY {order} LIMIT ?", [*params, -1 if limit is None else limit])
    return [as_event(row) for row in found]


def of_step(c: sqlite3.Connection, step: int) -> list[Event]:
    """The events of one step, oldest first."""
    return [as_event(row) for row in c.execute("SELECT * FROM events WHERE step = ? ORDER BY id", (step,))]


def as_event(row: sqlite3.Row) -> Event:
    return Event(
        id=row["id"],
        step=row["step"],
        at=row["at"],
        actor=row["actor"],
        finding_id=row["finding_id"],
        kind=row["kind"],
        before=json.loads(row["before"]),
        after=json.loads(row["after"]),
        why=row["why"],
        undoes=row["undoes"],
    )
