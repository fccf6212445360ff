"""What the reducer brings back: ever smaller programs of the same bug, how far it is, and at last the final signature."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from store import blobs, buckets, changes, findings, leaders, outline, search, times
from store.events import new_step
from store.records import JSON, Program, Signature, Verdict, canonical
from store.rows import Reduction
from store.titles import title_of


@dataclass(frozen=True, slots=True)
class Result:
    """A reduced program with its verdict. ``final``: nothing smaller will come of this reduction."""

    program: Program
    verdict: Verdict
    signature: Signature
    statistics: Mapping[str, JSON]
    final: bool


def save(c: sqlite3.Connection, finding_id: int, result: Result, *, actor: str) -> None:
    """Keep a reduced program; a final one decides the finding's signature, bucket and automatic title."""
    row = changes.current(c, [finding_id], ("statements", "bucket_id", "title", "symptoms", "stage", "guilty", "ops"))[0]
    statements = outline.count_statements(result.program.source)
    c.execute(
        "UPDATE findings SET reduced_id = ?, reduced_verdict_id = ?, statements = ?, reduction = ? WHERE id = ?",
        (
            blobs.put(c, result.program.source, "program"),
            blobs.put(c, canonical(result.verdict.to_json()), "verdict"),
            statements,
            Reduction.DONE.value if result.final else Reduction.RUNNING.value,
            finding_id,
        ),
    )
    _keep(c, finding_id, "statistics", result.statistics)
    if result.final:
        step = new_step(c, actor, undoable=False)
        step.record(c, "reduced", finding_id, {"statements": row["statements"]}, {"statements": statements})
        _describe(c, finding_id, row, result, actor)
    search.index(c, finding_id)
    leaders.refresh(c, [row["bucket_id"]])


def save_progress(c: sqlite3.Connection, finding_id: int, progress: Mapping[str, JSON]) -> None:
    """Replace what a reduction needs to go on."""
    _keep(c, finding_id, "progress", progress)


def progress(c: sqlite3.Connection, finding_id: int) -> dict[str, JSON] | None:
    """What ``save_progress`` kept last."""
    return _kept(c, finding_id, "progress")


def statistics(c: sqlite3.Connection, finding_id: int) -> dict[str, JSON] | None:
    """What the last ``save`` counted."""
    return _kept(c, finding_id, "statistics")


def _describe(c: sqlite3.Connection, finding_id: int, row: sqlite3.Row, result: Result, actor: str) -> None:
    """What the minimal program says about the bug replaces what the original did; a title that a person gave stays."""
    signature, judged = result.signature, result.verdict
    symptoms, ops = judged.symptoms or signature.symptoms, outline.ops_of(signature.skeleton)
    stage, guilty = signature.stage or judged.stage, signature.guilty or judged.guilty
    title = title_of(symptoms, ops, stage, guilty)
    renamed = c.execute("SELECT 1 FROM events WHERE finding_id = ? AND kind = 'title' LIMIT 1", (finding_id,)).fetchone() is not None
    signature_id = buckets.place(c, finding_id, signature, title, new_step(c, actor, "same signature after reduction"))
    c.execute(
        """UPDATE findings SET signature_id = ?, title = ?, symptoms = ?, stage = ?, guilty = ?, ops = ?,
           dtype = coalesce(nullif(?, ''), dtype) WHERE id = ?""",
        (
            signature_id,
            row["title"] if renamed else title,
            json.dumps(symptoms),
            stage.value if stage else None,
            guilty,
            " ".join(ops),
            next((d.dtype for d in judged.differences if d.dtype and d.excused is None), ""),
            finding_id,
        ),
    )
    findings.set_terms(c, finding_id, symptoms, ops)
    bucket_id = c.execute("SELECT bucket_id FROM findings WHERE id = ?", (finding_id,)).fetchone()[0]
    leaders.refresh(c, [bucket_id])


def _keep(c: sqlite3.Connection, finding_id: int, column: str, data: Mapping[str, JSON]) -> None:
    c.execute(
        f"""INSERT INTO reductions (finding_id, {column}, updated) VALUES (?, ?, ?)
            ON CONFLICT (finding_id) DO UPDATE SET {column} = excluded.{column}, updated = excluded.updated""",
        (finding_id, canonical(dict(data)), times.now()),
    )


def _kept(c: sqlite3.Connection, finding_id: int, column: str) -> dict[str, JSON] | None:
    row = c.execute(f"SELECT {column} FROM reductions WHERE finding_id = ?", (finding_id,)).fetchone()
    if row is None or row[0] is None:
        return None
    data: dict[str, JSON] = json.loads(row[0])
    return data
