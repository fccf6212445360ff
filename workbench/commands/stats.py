"""``workbench stats``: numbers about the store, its jobs and its campaigns."""

from __future__ import annotations

import os

import click

from store.records import JSON
from workbench.commands.options import database, db_option, emit, json_option
from workbench.commands.reading import reading, table

BY = ("state", "stage", "symptom", "code", "dtype", "reduction")


@click.command()
@click.argument("query", nargs=-1)
@click.option("--by", multiple=True, help=f"Count by this; may be repeated (default: {' '.join(BY)}).")
@json_option
@db_option
def command(query: tuple[str, ...], by: tuple[str, ...], db: str | None, *, as_json: bool) -> None:
    """Count findings that match QUERY, jobs, and what campaigns did."""
    text = " ".join(query)
    _upgrade(db)
    with reading(db) as store:
        tallies = {name: store.tally(name, text) for name in by or BY}
        found, buckets = store.count(text), len(store.tally("bucket", text))
        jobs: dict[str, int] = {}
        for job in store.jobs():
            key = f"{job.kind} {job.state}"
            jobs[key] = jobs.get(key, 0) + 1
        campaigns = store.campaigns(20)
    if as_json:
        document: dict[str, JSON] = {"findings": found, "buckets": buckets, "by": tallies, "jobs": jobs}
        emit({**document, "campaigns": [c.to_json() for c in campaigns]})
        return
    table(["findings", "buckets"], [[str(found), str(buckets)]])
    table(["by", "value", "findings"], [[name, value, str(n)] for name, counts in tallies.items() for value, n in counts.items()])
    if jobs:
        table(["jobs", "number"], [[name, str(n)] for name, n in sorted(jobs.items())])
    if campaigns:
        told = [[str(c.id), c.state, c.started[:16].replace("T", " "), _numbers(c.counters)] for c in campaigns]
        table(["campaign", "state", "started", "counters"], told, flexible=3)


def _upgrade(db: str | None) -> None:
    """Bring the store of an older workbench up to date; what only reads it asks for this."""
    from store import open_store

    path = database(db)
    if path.exists() and path.stat().st_size and os.access(path, os.W_OK):
        open_store(path).close()


def _numbers(counters: JSON) -> str:
    return ", ".join(f"{k} {round(v, 2)}" for k, v in counters.items() if isinstance(v, int | float) and not isinstance(v, bool))
