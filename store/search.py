"""The full-text index over titles, ops and reduced programs. Plain unicode61, so that ``index_put`` is found inside ``x.index_put_(``."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from store import blobs


def index(c: sqlite3.Connection, finding_id: int) -> None:
    """Index a finding as it is now; instead of what was indexed of it before."""
    row = c.execute("SELECT title, ops, reduced_id FROM findings WHERE id = ?", (finding_id,)).fetchone()
    program = blobs.get(c, row["reduced_id"]) if row["reduced_id"] is not None else ""
    c.execute("DELETE FROM findings_fts WHERE rowid = ?", (finding_id,))
    c.execute("INSERT INTO findings_fts (rowid, title, ops, program) VALUES (?, ?, ?, ?)", (finding_id, row["title"], row["ops"], program))


def match(texts: Sequence[tuple[str, bool]]) -> str:
    """FTS5's expression for (text, exact) pairs that must all occur; a text that is not exact is the beginning of a word."""
    return " AND ".join('"' + text.replace('"', '""') + '"' + ("" if exact else " *") for text, exact in texts)


def findable(text: str) -> bool:
    """Whether the index can hold any part of this text."""
    return any(character.isalnum() for character in text)
