"""Calls to an LLM endpoint: what was asked and answered, what became of it, and what it cost. Never a key, never an address beyond the host.

Prompts and answers are blobs, kept once however often they are asked; a call is found again by what decides its answer (``key``).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field

from store import blobs, times
from store.errors import NotFoundError
from store.records import JSON, canonical
from store.rows import LlmCall

GROUPS = ("model", "purpose", "outcome", "verdict", "characteristic", "prompt")
"""What calls can be counted by."""
VALID = "valid"
"""The outcome of an answer that passed every gate."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that has been made.

    purpose:    ``mutate repair learn title``
    prompt:     name and version of the prompt's text, ``mutate/1``
    messages:   all of what was sent, as JSON text
    parameters: model parameters sent, the sampling seed among them
    key:        digest of prompt, model and parameters: equal keys may be answered from here
    tries:      HTTP requests that it took
    outcome:    ``valid``, or the gate or the fault that ended it; one word; ``unread`` until somebody has looked
    detail:     one line for people
    cost:       in the currency of the configured prices; None where none are configured
    parent:     the call whose answer this one mends
    """

    purpose: str
    prompt: str
    messages: str
    model: str
    host: str
    key: str
    outcome: str
    parameters: Mapping[str, JSON] = field(default_factory=dict)
    detail: str = ""
    answered_by: str = ""
    answer: str = ""
    finish: str = ""
    seed: str = ""
    characteristic: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    milliseconds: int = 0
    tries: int = 1
    cost: float | None = None
    replayed: bool = False
    parent: int | None = None
    campaign: int | None = None


def add(c: sqlite3.Connection, asked: Asked) -> int:
    """Keep a call and return its id."""
    row = {
        "at": times.now(),
        "campaign_id": asked.campaign,
        "parent_id": asked.parent,
        "purpose": asked.purpose,
        "prompt": asked.prompt,
        "key": asked.key,
        "model": asked.model,
        "answered_by": asked.answered_by,
        "host": asked.host,
        "parameters": canonical(dict(asked.parameters)),
        "seed": asked.seed,
        "characteristic": asked.characteristic,
        "prompt_tokens": asked.prompt_tokens,
        "cached_tokens": asked.cached_tokens,
        "completion_tokens": asked.completion_tokens,
        "milliseconds": asked.milliseconds,
        "tries": asked.tries,
        "finish": asked.finish,
        "outcome": asked.outcome,
        "detail": asked.detail,
        "cost": asked.cost,
        "replayed": int(asked.replayed),
        "messages_id": blobs.put(c, asked.messages, "prompt"),
        "answer_id": blobs.put(c, asked.answer, "answer") if asked.answer else None,
    }
    cursor = c.execute(f"INSERT INTO llm_calls ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
    return int(cursor.lastrowid or 0)


def judged(c: sqlite3.Connection, call_id: int, verdict: str, finding: int | None) -> None:
    """The program of this call's answer has been judged."""
    changed = c.execute("UPDATE llm_calls SET verdict = ?, finding_id = ? WHERE id = ?", (verdict, finding, call_id)).rowcount
    if not changed:
        raise NotFoundError(f"no LLM call {call_id}", "`workbench stats --llm` counts them")


def settled(c: sqlite3.Connection, call_id: int, outcome: str, detail: str, characteristic: str) -> None:
    """What became of an answer that was kept before it was looked at; ``characteristic``: where only the answer says it."""
    sql = "UPDATE llm_calls SET outcome = ?, detail = ?, characteristic = coalesce(nullif(?, ''), characteristic) WHERE id = ?"
    changed = c.execute(sql, (outcome, detail, characteristic, call_id)).rowcount
    if not changed:
        raise NotFoundError(f"no LLM call {call_id}", "`workbench stats --llm` counts them")


def answered(c: sqlite3.Connection, key: str, nth: int = 0) -> LlmCall | None:
    """The ``nth`` call of that key that brought an answer and was really made, oldest first; None when there is none."""
    row = c.execute(
        f"{_SELECT} WHERE key = ? AND answer_id IS NOT NULL AND NOT replayed ORDER BY l.id LIMIT 1 OFFSET ?", (key, nth)
    ).fetchone()
    return None if row is None else _as_row(row)


def answer(c: sqlite3.Connection, call_id: int) -> str:
    """The raw answer of a call; empty when there was none."""
    row = c.execute("SELECT answer_id FROM llm_calls WHERE id = ?", (call_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"no LLM call {call_id}", "`workbench stats --llm` counts them")
    return blobs.get(c, row[0]) if row[0] is not None else ""


def listed(c: sqlite3.Connection, campaign: int | None = None, limit: int | None = None) -> list[LlmCall]:
    """Calls, newest first; those of one campaign, or all."""
    where, values = ("WHERE campaign_id = ?", [campaign]) if campaign is not None else ("", [])
    rows = c.execute(f"{_SELECT} {where} ORDER BY l.id DESC LIMIT ?", (*values, -1 if limit is None else limit))
    return [_as_row(row) for row in rows]


def tally(c: sqlite3.Connection, by: str, campaign: int | None = None) -> list[dict[str, JSON]]:
    """Calls, tokens, time and cost per value of ``by`` (one of ``GROUPS``), most calls first. ValueError for another word.

    judged: valid programs that have a verdict; mismatches: of these, those that mismatched. Answers replayed from the store cost nothing.
    """
    if by not in GROUPS:
        raise ValueError(f"calls are counted by {', '.join(GROUPS)}, not by {by}")
    where, values = ("WHERE campaign_id = ?", [campaign]) if campaign is not None else ("", [])
    rows = c.execute(
        f"""SELECT {by} AS value, count(*) AS calls, sum(replayed) AS replayed, sum(tries) AS tries, sum(outcome = '{VALID}') AS valid,
            sum(verdict IS NOT NULL) AS judged, sum(verdict IS 'mismatch') AS mismatches,
            sum(CASE WHEN replayed THEN 0 ELSE prompt_tokens END) AS prompt_tokens,
            sum(CASE WHEN replayed THEN 0 ELSE cached_tokens END) AS cached_tokens,
            sum(CASE WHEN replayed THEN 0 ELSE completion_tokens END) AS completion_tokens,
            sum(CASE WHEN replayed THEN 0 ELSE milliseconds END) AS milliseconds, sum(cost) AS cost
            FROM llm_calls {where} GROUP BY {by} ORDER BY calls DESC, value""",
        values,
    ).fetchall()
    return [{**dict(row), "value": row["value"] or ""} for row in rows]


_SELECT = "SELECT l.* FROM llm_calls l"


def _as_row(row: sqlite3.Row) -> LlmCall:
    return LlmCall(
        id=row["id"],
        at=row["at"],
        purpose=row["purpose"],
        prompt=row["prompt"],
        model=row["model"],
        answered_by=row["answered_by"],
        host=row["host"],
        key=row["key"],
        parameters=json.loads(row["parameters"]),
        outcome=row["outcome"],
        detail=row["detail"],
        finish=row["finish"],
        seed=row["seed"],
        characteristic=row["characteristic"],
        prompt_tokens=row["prompt_tokens"],
        cached_tokens=row["cached_tokens"],
        completion_tokens=row["completion_tokens"],
        milliseconds=row["milliseconds"],
        tries=row["tries"],
        cost=row["cost"],
        replayed=bool(row["replayed"]),
        verdict=row["verdict"],
        finding=row["finding_id"],
        parent=row["parent_id"],
        campaign=row["campaign_id"],
    )
