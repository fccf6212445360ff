"""How often each store saw a finding. A count is this store's own share plus the largest share known of every other store.

So counts of two stores add up, and importing one twice, or by way of a third, adds nothing. Copies of one file share their identity until
they are imported: then the larger count is taken.
"""

from __future__ import annotations

import sqlite3


def identity(c: sqlite3.Connection) -> str:
    """What a store is called in others: random, made with the file."""
    return str(c.execute("SELECT uid FROM identity").fetchone()[0])


def merge(c: sqlite3.Connection, other: sqlite3.Connection, ours: int, theirs: int, me: str, they: str) -> None:
    """Bring finding ``ours`` in ``c`` to know what finding ``theirs`` in ``other`` knows. A finding that has just come has count 0."""
    here, there = _shares(c, ours, me), _shares(other, theirs, they)
    total = {store: max(here.get(store, 0), there.get(store, 0)) for store in here.keys() | there.keys()}
    c.execute("UPDATE findings SET count = ? WHERE id = ?", (sum(total.values()), ours))
    c.executemany(
        """INSERT INTO sightings (finding_id, store, count) VALUES (?, ?, ?)
           ON CONFLICT (finding_id, store) DO UPDATE SET count = excluded.count""",
        [(ours, store, count) for store, count in total.items() if store != me],
    )


def _shares(c: sqlite3.Connection, finding_id: int, own: str) -> dict[str, int]:
    kept = _kept(c, finding_id)
    count = int(c.execute("SELECT count FROM findings WHERE id = ?", (finding_id,)).fetchone()[0])
    return {own: count - sum(kept.values()), **kept}


def _kept(c: sqlite3.Connection, finding_id: int) -> dict[str, int]:
    return {row[0]: row[1] for row in c.execute("SELECT store, count FROM sightings WHERE finding_id = ?", (finding_id,))}
