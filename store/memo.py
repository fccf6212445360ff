"""The oracle's memory: verdicts by key, bounded. Losing it costs time and nothing else."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping

from store import times
from store.records import JSON, canonical

LIMIT = 20_000
"""Entries kept; about 20 MB of verdicts without differences."""


def get(c: sqlite3.Connection, key: str) -> dict[str, JSON] | None:
    """What was kept under the key."""
    row = c.execute("SELECT data FROM memo WHERE key = ?", (key,)).fetchone()
    if row is None:
        return None
    data: dict[str, JSON] = json.loads(zlib.decompress(row[0]))
    return data


def put(c: sqlite3.Connection, key: str, verdict: Mapping[str, JSON]) -> None:
    """Keep it as the newest; every put forgets at most as many of the oldest as there are too many."""
    data = zlib.compress(canonical(dict(verdict)).encode())
    c.execute("DELETE FROM memo WHERE key = ?", (key,))
    newest = c.execute("INSERT INTO memo (key, data, at) VALUES (?, ?, ?)", (key, data, times.now())).lastrowid or 0
    c.execute("DELETE FROM memo WHERE id <= ?", (newest - LIMIT,))
