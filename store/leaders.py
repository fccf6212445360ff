"""The leader of a bucket: its smallest reliable repro, the one to look at and to export."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from store.records import SIDE_EXITS

# Findings that somebody put aside come last, then those that some cold runs did not show, then by size; the oldest of equals.
_ORDER = f"""
    state IN ({", ".join(sorted(f"'{s.value}'" for s in SIDE_EXITS))}), verified < verified_runs, statements, id
"""


def refresh(c: sqlite3.Connection, bucket_ids: Iterable[int]) -> None:
    """Choose anew after anything that a leader is chosen by has changed."""
    for bucket_id in sorted(set(bucket_ids)):
        c.execute(
            f"""UPDATE buckets SET leader_id =
                (SELECT id FROM findings WHERE bucket_id = ? AND deleted IS NULL ORDER BY {_ORDER} LIMIT 1) WHERE id = ?""",
            (bucket_id, bucket_id),
        )


def offer(c: sqlite3.Connection, bucket_id: int, finding_id: int) -> None:
    """A new member: compare it with the leader alone, for a bucket may have very many members."""
    c.execute(
        f"""UPDATE buckets SET leader_id =
            (SELECT f.id FROM findings f WHERE f.id IN (buckets.leader_id, ?) AND f.deleted IS NULL ORDER BY {_ORDER} LIMIT 1) WHERE id = ?""",
        (finding_id, bucket_id),
    )
