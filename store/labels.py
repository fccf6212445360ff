"""Labels: a person's words on findings. Kept as a table for filters and as a JSON array in the row for lists."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from store import changes
from store.errors import WorkbenchError
from store.events import Step, new_step

LONGEST = 60
NOBODY = "none"
"""The word by which filters ask for findings without one; so no label may be called that."""


def label(c: sqlite3.Connection, ids: Sequence[int], add: Sequence[str], remove: Sequence[str], *, actor: str, why: str) -> list[int]:
    """Put labels on and take labels off in one step; returns the findings that changed."""
    wanted, unwanted = {_checked(text) for text in add}, {_checked(text) for text in remove}
    if wanted & unwanted:
        raise WorkbenchError(f"label {sorted(wanted & unwanted)[0]!r} is to be put on and taken off at once", "name it once")
    step = new_step(c, actor, why)
    return [row["id"] for row in changes.current(c, ids, ("labels",)) if put(c, step, row["id"], wanted, unwanted)]


def put(
    c: sqlite3.Connection, step: Step, finding_id: int, add: Collection[str], remove: Collection[str], *, kind: str = "label"
) -> bool:
    """One finding; the event says only what really changed, so that undo leaves other people's labels alone."""
    have = set(json.loads(c.execute("SELECT labels FROM findings WHERE id = ?", (finding_id,)).fetchone()[0]))
    on, off = set(add) - have, set(remove) & have
    if not on and not off:
        return False
    c.executemany("INSERT INTO finding_labels (label, finding_id) VALUES (?, ?)", [(text, finding_id) for text in sorted(on)])
    c.executemany("DELETE FROM finding_labels WHERE label = ? AND finding_id = ?", [(text, finding_id) for text in sorted(off)])
    after = json.dumps(sorted((have | on) - off), ensure_ascii=False)
    c.execute("UPDATE findings SET labels = ? WHERE id = ?", (after, finding_id))
    step.record(c, kind, finding_id, {"labels": sorted(off)}, {"labels": sorted(on)})
    return True


def _checked(text: str) -> str:
    """The label as it is kept: one line, spaces collapsed."""
    plain = " ".join(text.split())
    if not plain or len(plain) > LONGEST or plain.lower() == NOBODY or '"' in plain or "," in plain or not plain.isprintable():
        raise WorkbenchError(f"{text!r} cannot be a label", f'1 to {LONGEST} printable characters, without comma and ", and not "{NOBODY}"')
    return plain
