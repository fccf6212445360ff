"""``workbench triage``: the TUI. Textual is imported only when it starts."""

from __future__ import annotations

import sys

import click

from workbench.commands.options import database, db_option
from workbench.errors import WorkbenchError


@click.command()
@click.argument("query", nargs=-1)
@db_option
def command(query: tuple[str, ...], db: str | None) -> None:
    """Inspect, label and export findings in a terminal; QUERY filters them from the start."""
    path = database(db)
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
        raise WorkbenchError("triage needs a terminal", "without one: workbench list, show, label, state, export")
    from store import open_store
    from workbench.triage.app import TriageApp

    if not path.exists():
        open_store(path).close()
    TriageApp(path, query=" ".join(query)).run()
