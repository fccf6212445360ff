"""Campaigns: what each `workbench fuzz` was asked for and counted. Agreeing tests are counters here, never rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from store import times
from store.errors import NotFoundError
from store.records import JSON, canonical
from store.rows import Campaign

STATES = ("running", "stopping", "finished", "interrupted")
ENDS = ("finished", "interrupted")
SILENT_SECONDS = 600.0
"""A campaign that has counted nothing for so long has died without a word; asking it to stop ends it."""


def start(c: sqlite3.Connection, settings: Mapping[str, JSON]) -> int:
    """A new running campaign."""
    now = times.now()
    cursor = c.execute(
        "INSERT INTO campaigns (state, started, updated, settings, counters) VALUES ('running', ?, ?, ?, '{}')",
        (now, now, canonical(dict(settings))),
    )
    return int(cursor.lastrowid or 0)


def update(c: sqlite3.Connection, campaign_id: int, counters: Mapping[str, JSON]) -> None:
    """Replace the counters."""
    get(c, campaign_id)
    c.execute("UPDATE campaigns SET counters = ?, updated = ? WHERE id = ?", (canonical(dict(counters)), times.now(), campaign_id))


def finish(c: sqlite3.Connection, campaign_id: int, counters: Mapping[str, JSON] | None, state: str) -> None:
    """End it; without counters the last ones stay."""
    if state not in ENDS:
        raise ValueError(f"a campaign ends finished or interrupted, not {state}")
    get(c, campaign_id)
    if counters is not None:
        update(c, campaign_id, counters)
    now = times.now()
    c.execute("UPDATE campaigns SET state = ?, finished = ?, updated = ? WHERE id = ?", (state, now, now, campaign_id))


def silent(campaign: Campaign) -> bool:
    """It has not been heard of for so long that its process must have died."""
    return campaign.state not in ENDS and campaign.updated < times.now(-SILENT_SECONDS)


def stop(c: sqlite3.Connection, campaign_id: int) -> bool:
    """Ask a running campaign to end, wherever it runs: it looks every second. False when it has ended already."""
    campaign = get(c, campaign_id)
    if campaign.state in ENDS:
        return False
    if silent(campaign):
        finish(c, campaign_id, None, "interrupted")
        return True
    c.execute("UPDATE campaigns SET state = 'stopping' WHERE id = ?", (campaign_id,))
    return True


def get(c: sqlite3.Connection, campaign_id: int) -> Campaign:
    """One campaign."""
    row = c.execute("SELECT * FROM campaigns WHERE id = ?", (campaign_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"no campaign {campaign_id}", "`workbench stats` lists them")
    return _as_row(row)


def listed(c: sqlite3.Connection, limit: int | None) -> list[Campaign]:
    """Campaigns, newest first."""
    return [_as_row(row) for row in c.execute("SELECT * FROM campaigns ORDER BY id DESC LIMIT ?", (-1 if limit is None else limit,))]


def _as_row(row: sqlite3.Row) -> Campaign:
    return Campaign(
        id=row["id"],
        state=row["state"],
        started=row["started"],
        updated=row["updated"],
        finished=row["finished"],
        settings=json.loads(row["settings"]),
        counters=json.loads(row["counters"]),
    )
