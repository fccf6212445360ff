"""Texts by content: programs and verdicts, compressed, each kept once. Out of the findings rows, which makes scanning those 8x faster."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib


def put(c: sqlite3.Connection, text: str, kind: str) -> int:
    """Keep a text and return its id; the same text is the same id. ``kind``: ``program`` or ``verdict``, for people who browse."""
    data = text.encode()
    sha = hashlib.sha256(data).hexdigest()
    row = c.execute("SELECT id FROM blobs WHERE sha = ?", (sha,)).fetchone()
    if row is not None:
        return int(row[0])
    cursor = c.execute("INSERT INTO blobs (sha, kind, size, data) VALUES (?, ?, ?, ?)", (sha, kind, len(data), zlib.compress(data)))
    return int(cursor.lastrowid or 0)


def get(c: sqlite3.Connection, blob_id: int) -> str:
    """The text of an id."""
    return _text(c.execute("SELECT data FROM blobs WHERE id = ?", (blob_id,)).fetchone())


def text(c: sqlite3.Connection, sha: str) -> str | None:
    """The text of a sha256, or None."""
    row = c.execute("SELECT data FROM blobs WHERE sha = ?", (sha,)).fetchone()
    return None if row is None else _text(row)


def _text(row: sqlite3.Row) -> str:
    return zlib.decompress(row[0]).decode()
