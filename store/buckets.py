"""Buckets: findings that are the same bug as far as their signatures tell. A signature leads to one bucket; a bucket may have several.

When a reduction ends, its finding's signature is final. If that signature is new and the bucket has no final one yet, the bucket keeps it.
If it leads to another bucket, the finding moves there; the findings that shared its provisional signature move along as long as nothing in
their bucket is final, since then only that signature said what they are. Every move is an event and can be undone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from store import changes, times
from store.errors import NotFoundError, WorkbenchError
from store.events import Step, new_step
from store.records import Signature, Stage, Symptom
from store.rows import BucketRow

_SELECT = """
    SELECT b.*, count(f.id) AS members, coalesce(sum(f.count), 0) AS found
    FROM buckets b LEFT JOIN findings f ON f.bucket_id = b.id AND f.deleted IS NULL
"""


def lead(c: sqlite3.Connection, signature: Signature, title: str) -> tuple[int, int]:
    """Ids of the signature and of the bucket it leads to; both made when the signature is new."""
    known = find(c, signature)
    if known is not None:
        return known
    bucket_id = _new(c, signature, title)
    return register(c, signature, bucket_id), bucket_id


def find(c: sqlite3.Connection, signature: Signature) -> tuple[int, int] | None:
    """Ids of a known signature and its bucket."""
    row = c.execute("SELECT id, bucket_id, final FROM signatures WHERE text = ?", (signature.text(),)).fetchone()
    if row is None:
        return None
    if signature.final and not row["final"]:
        c.execute("UPDATE signatures SET final = 1 WHERE id = ?", (row["id"],))
    return row["id"], row["bucket_id"]


def register(c: sqlite3.Connection, signature: Signature, bucket_id: int) -> int:
    """A new signature that leads to this bucket."""
    values = (signature.text(), bucket_id, int(signature.final))
    return int(c.execute("INSERT INTO signatures (text, bucket_id, final) VALUES (?, ?, ?)", values).lastrowid or 0)


def has_final(c: sqlite3.Connection, bucket_id: int) -> bool:
    """Whether some reduced finding already says what this bucket is."""
    return c.execute("SELECT 1 FROM signatures WHERE bucket_id = ? AND final LIMIT 1", (bucket_id,)).fetchone() is not None


def place(c: sqlite3.Connection, finding_id: int, signature: Signature, title: str, step: Step) -> int:
    """The reduced finding's signature is known now: bring the finding to its bucket (see the top). Returns the signature's id."""
    row = c.execute("SELECT bucket_id, signature_id FROM findings WHERE id = ?", (finding_id,)).fetchone()
    known, home, provisional = find(c, signature), row["bucket_id"], row["signature_id"]
    settled = has_final(c, home)
    if known is None and not settled:
        _describe(c, home, signature, title)
        return register(c, signature, home)
    signature_id, target = known if known is not None else lead(c, signature, title)
    if target != home:
        moving = [finding_id]
        if not settled:
            moving += [
                r[0]
                for r in c.execute(
                    "SELECT id FROM findings WHERE bucket_id = ? AND signature_id = ? AND id <> ? AND deleted IS NULL",
                    (home, provisional, finding_id),
                )
            ]
            repoint(c, step, [provisional], target)
        changes.change(c, step, "bucket", moving, {"bucket_id": target})
    return signature_id


def repoint(c: sqlite3.Connection, step: Step, signature_ids: Sequence[int], bucket_id: int) -> None:
    """Later findings of these signatures go to another bucket."""
    for signature_id in signature_ids:
        old = c.execute("SELECT bucket_id FROM signatures WHERE id = ?", (signature_id,)).fetchone()[0]
        if old != bucket_id:
            c.execute("UPDATE signatures SET bucket_id = ? WHERE id = ?", (bucket_id, signature_id))
            before, after = {"signature_id": signature_id, "bucket_id": old}, {"signature_id": signature_id, "bucket_id": bucket_id}
            step.record(c, "signature", None, before, after)


def merge(c: sqlite3.Connection, into: int, others: Sequence[int], *, actor: str, why: str) -> list[int]:
    """Everything in ``others`` moves into ``into``, and so will what is found later; returns the findings that moved."""
    get(c, into)
    step, moved = new_step(c, actor, why), []
    for other in dict.fromkeys(others):
        get(c, other)
        if other == into:
            continue
        repoint(c, step, [row[0] for row in c.execute("SELECT id FROM signatures WHERE bucket_id = ?", (other,)).fetchall()], into)
        members = [row[0] for row in c.execute("SELECT id FROM findings WHERE bucket_id = ? AND deleted IS NULL", (other,)).fetchall()]
        moved += changes.change(c, step, "bucket", members, {"bucket_id": into})
    return moved


def split(c: sqlite3.Connection, ids: Sequence[int], *, actor: str, why: str) -> int:
    """A new bucket with these findings; their signatures go on leading to the old one."""
    if not ids:
        raise WorkbenchError("no finding to split off", "name at least one")
    step = new_step(c, actor, why)
    changes.current(c, ids, ())
    model = c.execute("SELECT b.* FROM findings f JOIN buckets b ON b.id = f.bucket_id WHERE f.id = ?", (ids[0],)).fetchone()
    values = (model["title"], model["signature"], model["stage"], model["symptoms"], times.now())
    cursor = c.execute("INSERT INTO buckets (title, signature, stage, symptoms, created) VALUES (?, ?, ?, ?, ?)", values)
    bucket_id = int(cursor.lastrowid or 0)
    changes.change(c, step, "bucket", ids, {"bucket_id": bucket_id})
    return bucket_id


def get(c: sqlite3.Connection, bucket_id: int) -> BucketRow:
    """One bucket, also an empty one."""
    row = c.execute(f"{_SELECT} WHERE b.id = ? GROUP BY b.id", (bucket_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"no bucket {bucket_id}", "`workbench list` shows each finding's bucket")
    keys = c.execute("SELECT text FROM signatures WHERE bucket_id = ? ORDER BY id", (bucket_id,))
    return _as_row(row, [key[0] for key in keys])


def listed(c: sqlite3.Connection, limit: int | None) -> list[BucketRow]:
    """Buckets that have findings, newest first."""
    found = c.execute(f"{_SELECT} GROUP BY b.id HAVING members > 0 ORDER BY b.id DESC LIMIT ?", (-1 if limit is None else limit,))
    keys: dict[int, list[str]] = {}
    for row in c.execute("SELECT bucket_id, text FROM signatures ORDER BY id"):
        keys.setdefault(row[0], []).append(row[1])
    return [_as_row(row, keys.get(row["id"], ())) for row in found]


def _new(c: sqlite3.Connection, signature: Signature, title: str) -> int:
    stage = signature.stage.value if signature.stage else None
    values = (title, signature.text(), stage, json.dumps(signature.symptoms), times.now())
    cursor = c.execute("INSERT INTO buckets (title, signature, stage, symptoms, created) VALUES (?, ?, ?, ?, ?)", values)
    return int(cursor.lastrowid or 0)


def _describe(c: sqlite3.Connection, bucket_id: int, signature: Signature, title: str) -> None:
    """The bucket is named by its first final signature."""
    stage = signature.stage.value if signature.stage else None
    c.execute(
        "UPDATE buckets SET title = ?, signature = ?, stage = ?, symptoms = ? WHERE id = ?",
        (title, signature.text(), stage, json.dumps(signature.symptoms), bucket_id),
    )


def _as_row(row: sqlite3.Row, keys: Sequence[str]) -> BucketRow:
    return BucketRow(
        id=row["id"],
        title=row["title"],
        signature=row["signature"],
        stage=Stage(row["stage"]) if row["stage"] else None,
        symptoms=tuple(Symptom(s) for s in json.loads(row["symptoms"])),
        leader=row["leader_id"],
        members=row["members"],
        count=row["found"],
        created=row["created"],
        keys=tuple(keys),
    )
