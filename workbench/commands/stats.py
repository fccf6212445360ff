"""``workbench stats``: numbers about the store, its jobs and its campaigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from store.records import JSON
from workbench.commands import counts
from workbench.commands.options import database, db_option, emit, json_option
from workbench.commands.reading import reading, table
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from store import Store
    from store.rows import Campaign

BY = ("state", "stage", "symptom", "code", "dtype", "reduction")


@click.command()
@click.argument("query", nargs=-1)
@click.option("--by", multiple=True, help=f"Count by this; may be repeated (default: {' '.join(BY)}).")
@click.option("--llm", is_flag=True, help="Count calls to LLM endpoints instead: outcomes, tokens, time, cost.")
@click.option(
    "--campaign",
    type=int,
    help="One campaign (0: the latest): a row a characteristic, a mutator, and the model that wrote mutants; with --llm, its calls.",
)
@click.option("--csv", "as_csv", is_flag=True, help="The rows of the campaign as CSV on stdout (default: of the latest).")
@json_option
@db_option
def command(
    query: tuple[str, ...], by: tuple[str, ...], db: str | None, *, llm: bool, campaign: int | None, as_csv: bool, as_json: bool
) -> None:
    """Count findings that match QUERY, jobs, and what campaigns did."""
    from store.older import upgrade

    text = " ".join(query)
    upgrade(database(db))
    if llm:
        if text or as_csv:
            raise WorkbenchError("LLM calls take no query and no --csv", "workbench stats --llm --campaign 3 --by outcome, or --json")
        _llm(db, by, campaign, as_json=as_json)
        return
    if campaign is not None or as_csv:
        if text or by or (as_csv and as_json):
            raise WorkbenchError("a campaign's rows take no query, no --by, and one form", "workbench stats --campaign 3 --csv, or --json")
        _campaign(db, campaign or 0, as_csv=as_csv, as_json=as_json)
        return
    from store.campaigns import silent

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
        emit({**document, "campaigns": [{**c.to_json(), "silent": silent(c)} for c in campaigns]})
        return
    table(["findings", "buckets"], [[str(found), str(buckets)]])
    table(["by", "value", "findings"], [[name, value, str(n)] for name, counts in tallies.items() for value, n in counts.items()])
    if jobs:
        table(["jobs", "number"], [[name, str(n)] for name, n in sorted(jobs.items())])
    if campaigns:
        told = [[str(c.id), "silent" if silent(c) else c.state, c.started[:16].replace("T", " "), _numbers(c.counters)] for c in campaigns]
        table(["campaign", "state", "started", "counters"], told, flexible=3)


def _campaign(db: str | None, campaign: int, *, as_csv: bool, as_json: bool) -> None:
    """What one campaign did, by characteristic and mutator."""
    with reading(db) as store:
        chosen = _chosen(store, campaign)
    if as_csv:
        click.echo(counts.as_csv(chosen), nl=False)
    elif as_json:
        emit({**chosen.to_json(), "rows": counts.rows(chosen)})
    else:
        table([name.replace("_", " ") for name in counts.COLUMNS[1:]], list(counts.lines(chosen)), flexible=1)


def _chosen(store: Store, campaign: int) -> Campaign:
    """A campaign by its number; 0: the latest."""
    if campaign:
        return store.campaign(campaign)
    latest = store.campaigns(1)
    if not latest:
        raise WorkbenchError("no campaign yet", "workbench fuzz --minutes 5")
    return latest[0]


def _llm(db: str | None, by: tuple[str, ...], campaign: int | None, *, as_json: bool) -> None:
    """Calls by model, outcome and characteristic, or as ``--by`` says."""
    from store.llm_calls import GROUPS

    unknown = [name for name in by if name not in GROUPS]
    if unknown:
        raise WorkbenchError(f"LLM calls are not counted by {unknown[0]!r}", f"--by: {', '.join(GROUPS)}")
    with reading(db) as store:
        campaign = None if campaign is None else _chosen(store, campaign).id
        tallies = {name: store.llm_tally(name, campaign) for name in by or ("model", "purpose", "outcome", "verdict", "characteristic")}
    for rows in tallies.values():
        for row in rows:
            row["tokens_per_second"] = round(row["completion_tokens"] / row["milliseconds"] * 1000, 1) if row["milliseconds"] else None
    if as_json:
        emit(tallies)
        return
    columns = (
        "calls",
        "replayed",
        "valid",
        "judged",
        "mismatches",
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "tokens_per_second",
        "cost",
    )
    titles = [name.replace("_", " ").replace(" tokens", "").replace("tokens per second", "tokens/s") for name in columns]
    lines = [[name, row["value"] or "–", *(_shown(row[c]) for c in columns)] for name, rows in tallies.items() for row in rows]
    table(["by", "value", *titles], lines, flexible=1)
    if not lines:
        click.echo("no LLM call yet: workbench fuzz --llm", err=True)


def _shown(value: JSON) -> str:
    return "–" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _numbers(counters: JSON) -> str:
    return ", ".join(f"{k} {round(v, 2)}" for k, v in counters.items() if isinstance(v, int | float) and not isinstance(v, bool))
