"""``workbench list``: findings that match a filter."""

from __future__ import annotations

import sys

import click

from workbench.commands.options import db_option, emit, json_option
from workbench.commands.reading import reading, table

SHOWN = 100
"""Rows on a terminal unless ``--limit`` says otherwise; a pipe gets them all."""

TITLES = ("id", "state", "stage", "title", "dtype", "statements", "reduction", "bucket", "count", "labels")
OPTIONAL = ("labels", "reduction", "count", "bucket", "dtype", "statements", "stage")
"""Left out on a narrow terminal, the last first."""


@click.command(name="list")
@click.argument("query", nargs=-1)
@click.option("--limit", type=click.IntRange(1), default=None, help=f"At most so many (default: {SHOWN} on a terminal, else all).")
@click.option(
    "--order", default="-id", show_default=True, help="id seen created count size state stage title ..., - in front for descending."
)
@json_option
@db_option
def command(query: tuple[str, ...], limit: int | None, order: str, db: str | None, *, as_json: bool) -> None:
    """List findings, newest first. ✎ stands before a title that an LLM proposed.

    QUERY: state:new op:softmax -label:flaky dtype:f16 age:<7d "exact words"; the same language as in triage.
    Everything after -- is QUERY, so that a leading - is no option: workbench list -- -label:flaky.
    """
    from workbench.export.sentences import MARKS, titled

    text = " ".join(query)
    with reading(db) as store:
        limit = limit or (SHOWN if sys.stdout.isatty() and not as_json else None)
        rows = store.find(text, limit=limit, order=order)
        total = store.count(text) if limit and len(rows) == limit else len(rows)
    if as_json:
        emit([row.to_json() for row in rows])
        return
    cells = [
        [
            str(row.id),
            f"{MARKS[row.state]} {row.state}",
            row.stage.value if row.stage else "-",
            titled(row),
            row.dtype or "-",
            str(row.statements),
            row.reduction.value,
            str(row.bucket),
            str(row.count),
            " ".join(row.labels),
        ]
        for row in rows
    ]
    if cells:
        table(TITLES, cells, flexible=3, optional=OPTIONAL)
    else:
        click.echo("no finding matches" if text else "no findings yet: workbench fuzz --minutes 2", err=True)
    if total > len(rows):
        click.echo(f"… {total - len(rows)} more; --limit {total} shows them", err=True)
