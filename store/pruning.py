"""Forgetting for good: what was deleted long ago with its history, finished jobs (but gates and edited programs), texts that nothing names any more, the oracle's memory."""

from __future__ import annotations

import sqlite3

from store import times
from store.rows import Pruned

_OF_FINDINGS = ("finding_labels", "finding_symptoms", "finding_ops", "reductions", "runs", "jobs", "events", "sightings")
"""What goes with a finding. Whatever else names it names nobody from then on."""
_GONE = "SELECT id FROM gone"


def forget(c: sqlite3.Connection, older_than: float) -> Pruned:
    """Forget in a transaction; what is referred to by something that stays is kept."""
    before = times.now(-older_than)
    c.execute("CREATE TEMP TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY)")
    c.execute("DELETE FROM gone")
    c.execute(
        """INSERT INTO gone SELECT id FROM findings f WHERE f.deleted < ?
           AND NOT EXISTS (SELECT 1 FROM findings d WHERE d.duplicate_of = f.id AND d.deleted IS NULL)""",
        (before,),
    )
    findings = _findings(c)
    jobs = c.execute(
        "DELETE FROM jobs WHERE state IN ('done', 'failed') AND finished < ? AND kind NOT IN ('gates', 'edit')", (before,)
    ).rowcount
    memo = c.execute("DELETE FROM memo WHERE at < ?", (before,)).rowcount
    texts = c.execute(
        """DELETE FROM blobs WHERE id NOT IN (
               SELECT program_id FROM findings UNION SELECT verdict_id FROM findings
               UNION SELECT reduced_id FROM findings WHERE reduced_id IS NOT NULL
               UNION SELECT reduced_verdict_id FROM findings WHERE reduced_verdict_id IS NOT NULL UNION SELECT verdict_id FROM runs
               UNION SELECT messages_id FROM llm_calls UNION SELECT answer_id FROM llm_calls WHERE answer_id IS NOT NULL)"""
    ).rowcount
    return Pruned(findings, jobs, texts, memo)


def _findings(c: sqlite3.Connection) -> int:
    """The chosen findings and everything about them. History is append-only for everybody else, so its guard is lifted for this alone."""
    guard = c.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = 'events_remain'").fetchone()[0]
    c.execute("DROP TRIGGER events_remain")
    for table in _OF_FINDINGS:
        c.execute(f"DELETE FROM {table} WHERE finding_id IN ({_GONE})")
    c.execute(guard)
    c.execute(f"DELETE FROM findings_fts WHERE rowid IN ({_GONE})")
    c.execute(f"UPDATE findings SET duplicate_of = NULL WHERE duplicate_of IN ({_GONE})")
    c.execute(f"UPDATE llm_calls SET finding_id = NULL WHERE finding_id IN ({_GONE})")
    c.execute(f"UPDATE buckets SET leader_id = NULL WHERE leader_id IN ({_GONE})")
    return c.execute(f"DELETE FROM findings WHERE id IN ({_GONE})").rowcount


def _references(c: sqlite3.Connection, target: str) -> list[tuple[str, str]]:
    """(table, column) of everything that points to ``target``, whichever migration brought it."""
    tables = [row[0] for row in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
    return [
        (table, key["from"])
        for table in tables
        for key in c.execute(f"PRAGMA foreign_key_list({table})").fetchall()
        if key["table"] == target
    ]
