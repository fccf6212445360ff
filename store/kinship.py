"""Which bucket of this store is which of another's: the one that the same signatures lead to, or that holds the same findings."""

from __future__ import annotations

import sqlite3
from collections import Counter

from store import buckets, changes
from store.events import Step


class Kinship:
    """Their buckets in ours, made where there is none. ``made``: how many were."""

    def __init__(self, c: sqlite3.Connection, other: sqlite3.Connection) -> None:
        self._c, self._other = c, other
        self._known: dict[int, int] = {}
        self.made = 0

    def bucket(self, theirs: int) -> int | None:
        """Our number of a bucket that was met."""
        return self._known.get(theirs)

    def place(self, finding: sqlite3.Row) -> tuple[int, int]:
        """Our ids of the signature and the bucket of one of their findings."""
        told = self._other.execute("SELECT text, bucket_id FROM signatures WHERE id = ?", (finding["signature_id"],)).fetchone()
        self._ours(told["bucket_id"])
        signature_id = self._c.execute("SELECT id FROM signatures WHERE text = ?", (told["text"],)).fetchone()[0]
        return int(signature_id), self._ours(finding["bucket_id"])

    def _ours(self, theirs: int) -> int:
        if theirs not in self._known:
            keys = self._other.execute(
                "SELECT text, final FROM signatures WHERE bucket_id = ? ORDER BY final DESC, id", (theirs,)
            ).fetchall()
            self._known[theirs] = self._led_to(keys) or (self._shared(theirs) if not keys else None) or self._made(theirs)
            self._register(keys, self._known[theirs])
        return self._known[theirs]

    def _led_to(self, keys: list[sqlite3.Row]) -> int | None:
        for key in keys:
            row = self._c.execute("SELECT bucket_id FROM signatures WHERE text = ?", (key["text"],)).fetchone()
            if row is not None:
                return int(row[0])
        return None

    def _shared(self, theirs: int) -> int | None:
        """A bucket that a person split off has no signatures: ours is the one, split off too, with the same findings."""
        found: Counter[int] = Counter()
        for member in self._other.execute("SELECT uid FROM findings WHERE bucket_id = ?", (theirs,)):
            row = self._c.execute(
                """SELECT f.bucket_id FROM findings f WHERE f.uid = ?
                   AND NOT EXISTS (SELECT 1 FROM signatures s WHERE s.bucket_id = f.bucket_id)""",
                (member["uid"],),
            ).fetchone()
            found.update([row[0]] if row else [])
        return found.most_common(1)[0][0] if found else None

    def _made(self, theirs: int) -> int:
        row = self._other.execute("SELECT title, signature, stage, symptoms, created FROM buckets WHERE id = ?", (theirs,)).fetchone()
        self.made += 1
        cursor = self._c.execute("INSERT INTO buckets (title, signature, stage, symptoms, created) VALUES (?, ?, ?, ?, ?)", tuple(row))
        return int(cursor.lastrowid or 0)

    def _register(self, keys: list[sqlite3.Row], ours: int) -> None:
        for key in keys:
            known = self._c.execute("SELECT id FROM signatures WHERE text = ?", (key["text"],)).fetchone()
            if known is None:
                self._c.execute("INSERT INTO signatures (text, bucket_id, final) VALUES (?, ?, ?)", (key["text"], ours, key["final"]))
            elif key["final"]:
                self._c.execute("UPDATE signatures SET final = 1 WHERE id = ?", (known[0],))

    def merge_buckets(self, step: Step) -> set[int]:
        """Signatures that lead to one bucket there and to several here lead to one here too; returns the buckets that changed."""
        led: dict[int, dict[int, list[int]]] = {}
        for key in self._other.execute("SELECT text, bucket_id FROM signatures ORDER BY final DESC, id"):
            row = self._c.execute("SELECT id, bucket_id FROM signatures WHERE text = ?", (key["text"],)).fetchone()
            if row is not None:
                led.setdefault(key["bucket_id"], {}).setdefault(row["bucket_id"], []).append(row["id"])
        changed: set[int] = set()
        for ours in led.values():
            into, *others = ours
            for other in others:
                members = [
                    r[0] for r in self._c.execute("SELECT id FROM findings WHERE bucket_id = ? AND deleted IS NULL", (other,)).fetchall()
                ]
                keys = [r[0] for r in self._c.execute("SELECT id FROM signatures WHERE bucket_id = ?", (other,)).fetchall()]
                buckets.repoint(self._c, step, keys, into)
                changes.change(self._c, step, "bucket", members, {"bucket_id": into})
                changed |= {into, other}
        return changed
