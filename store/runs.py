"""Further judgements of a finding: re-checks on another torch, rungs of the ladder, cells of the configuration grid."""

from __future__ import annotations

import json
import sqlite3

from store import blobs, changes, states, times
from store.errors import NotFoundError
from store.records import Outcome, Verdict, canonical
from store.rows import Run


def add(c: sqlite3.Connection, finding_id: int, verdict: Verdict, purpose: str) -> int:
    """Keep one more verdict; a mismatch in a re-check is a finding seen again."""
    changes.current(c, [finding_id], ())
    if purpose == "recheck" and verdict.outcome is Outcome.MISMATCH and verdict.torch:
        states.seen_again(c, finding_id, verdict.torch)
    values = (
        finding_id,
        purpose,
        verdict.outcome.value,
        canonical(verdict.configuration.non_default()),
        verdict.torch,
        verdict.seconds,
        times.now(),
        blobs.put(c, canonical(verdict.to_json()), "verdict"),
    )
    marks = ", ".join("?" * len(values))
    cursor = c.execute(
        f"INSERT INTO runs (finding_id, purpose, outcome, configuration, torch, seconds, at, verdict_id) VALUES ({marks})", values
    )
    return int(cursor.lastrowid or 0)


def listed(c: sqlite3.Connection, finding_id: int, purpose: str | None) -> list[Run]:
    """Runs of a finding, newest first."""
    found = c.execute("SELECT * FROM runs WHERE finding_id = ? AND purpose = coalesce(?, purpose) ORDER BY id DESC", (finding_id, purpose))
    return [
        Run(
            id=row["id"],
            finding_id=row["finding_id"],
            purpose=row["purpose"],
            outcome=row["outcome"],
            configuration=json.loads(row["configuration"]),
            torch=row["torch"],
            seconds=row["seconds"],
            at=row["at"],
        )
        for row in found
    ]


def verdict(c: sqlite3.Connection, run_id: int) -> Verdict:
    """The whole verdict of one run."""
    row = c.execute("SELECT verdict_id FROM runs WHERE id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"no run {run_id}")
    return Verdict.from_json(json.loads(blobs.get(c, row[0])))
