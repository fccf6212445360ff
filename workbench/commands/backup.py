"""``workbench backup``: a whole copy of the store while others work."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from workbench.commands.options import database, db_option
from workbench.commands.reading import reading


@click.command()
@click.argument("target", required=False, type=click.Path(path_type=Path), metavar="[FILE]")
@db_option
def command(target: Path | None, db: str | None) -> None:
    """Write a consistent copy of the store to FILE (default: beside it, with date and time in the name); its path goes to stdout.

    A copy is a store: --db FILE uses it, `workbench import FILE` brings it back into another.
    """
    path = database(db)
    chosen = target or path.with_name(f"{path.stem}-{datetime.now():%Y%m%d-%H%M%S}{path.suffix or '.db'}")
    if chosen.is_dir():
        chosen = chosen / path.name
    with reading(db) as store:
        store.backup(chosen)
        count = store.count()
    click.echo(f"{count} findings, {chosen.stat().st_size / 1e6:.1f} MB", err=True)
    click.echo(str(chosen))
