"""Undo and redo over the history. Both append steps; whether a step is undone is read from the steps that point to it.

A value that somebody has changed since is left as they made it, and the answer says how many.
"""

from __future__ import annotations

import sqlite3

from store import changes, labels
from store.errors import NotFoundError
from store.events import Step, new_step, of_step
from store.rows import Event

_LIVE_UNDO = "NOT EXISTS (SELECT 1 FROM events r WHERE r.undoes = u.step)"
_UNDONE = f"EXISTS (SELECT 1 FROM events u WHERE u.undoes = e.step AND {_LIVE_UNDO})"


def undo(c: sqlite3.Connection, actor: str, step: int | None) -> str:
    """Take back the actor's last step that is not undone yet, or a given one; what was done, or empty."""
    if step is None:
        row = c.execute(
            f"SELECT e.step FROM events e WHERE e.undoable AND e.actor = ? AND NOT {_UNDONE} ORDER BY e.step DESC LIMIT 1", (actor,)
        )
        found = row.fetchone()
        if found is None:
            return ""
        step = int(found[0])
    else:
        _check_undoable(c, step)
    return _take_back(c, actor, step, "undone")


def redo(c: sqlite3.Connection, actor: str) -> str:
    """Do again what the actor undid last; empty when there is nothing, or when they have changed something since."""
    row = c.execute(
        f"""SELECT u.step FROM events u WHERE u.undoes IS NOT NULL AND u.actor = ? AND {_LIVE_UNDO}
            AND EXISTS (SELECT 1 FROM events o WHERE o.step = u.undoes AND o.undoes IS NULL)
            AND u.step > (SELECT coalesce(max(e.step), 0) FROM events e WHERE e.undoable AND e.actor = u.actor)
            ORDER BY u.step DESC LIMIT 1""",
        (actor,),
    ).fetchone()
    return "" if row is None else _take_back(c, actor, int(row[0]), "done again")


def _check_undoable(c: sqlite3.Connection, step: int) -> None:
    row = c.execute(f"SELECT max(e.undoable) AS undoable, max({_UNDONE}) AS undone FROM events e WHERE e.step = ?", (step,)).fetchone()
    if not row["undoable"]:
        raise NotFoundError(f"no step {step} that can be undone", "the history shows the steps")
    if row["undone"]:
        raise NotFoundError(f"step {step} is undone already", "redo does it again")


def _take_back(c: sqlite3.Connection, actor: str, number: int, word: str) -> str:
    old = of_step(c, number)
    step = new_step(c, actor, f"step {number} {word}", undoes=number)
    back = [event for event in reversed(old) if _revert(c, step, event)]
    findings = {event.finding_id for event in back if event.finding_id is not None}
    if back:
        left_buckets = {event.after["bucket_id"] for event in back if "bucket_id" in event.after}
        changes.settle(c, sorted(findings), {name for event in back for name in event.after}, left_buckets=left_buckets)
    else:
        step.record(c, "undo", None, {}, {})  # nothing left to take back, but the next undo must get past it
    left = len({e.finding_id for e in old if e.finding_id is not None} - findings)
    kinds = " and ".join(dict.fromkeys(e.kind for e in old if e.finding_id is not None))
    named = f"finding {min(findings)}" if len(findings) == 1 else f"{len(findings)} findings"
    return f"{word}: {kinds} of {named}" + (f"; {left} left alone, changed since" if left else "")


def _revert(c: sqlite3.Connection, step: Step, event: Event) -> bool:
    """Bring back what one event changed, unless it was changed since."""
    if event.kind == "signature":
        return _revert_signature(c, step, event)
    if event.finding_id is None:
        return False
    if "labels" in event.after:
        return labels.put(c, step, event.finding_id, event.before["labels"], event.after["labels"], kind=event.kind)
    row = changes.current(c, [event.finding_id], tuple(event.after), deleted=True)[0]
    if {name: row[name] for name in event.after} != event.after:
        return False
    changes.put(c, step, event.kind, event.finding_id, event.after, event.before)
    return True


def _revert_signature(c: sqlite3.Connection, step: Step, event: Event) -> bool:
    signature_id = event.after["signature_id"]
    row = c.execute("SELECT bucket_id FROM signatures WHERE id = ?", (signature_id,)).fetchone()
    if row["bucket_id"] != event.after["bucket_id"]:
        return False
    c.execute("UPDATE signatures SET bucket_id = ? WHERE id = ?", (event.before["bucket_id"], signature_id))
    step.record(c, "signature", None, event.after, event.before)
    return True
