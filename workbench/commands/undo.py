"""``workbench undo``: take back your last change, or do it again."""

from __future__ import annotations

import click

from workbench.commands.changes import actor
from workbench.commands.options import db_option
from workbench.commands.reading import changing


@click.command()
@click.option("--redo", is_flag=True, help="Do again what was undone last.")
@db_option
def command(db: str | None, *, redo: bool) -> None:
    """Undo your last change to findings, also one of an earlier day; again for the one before."""
    with changing(db) as store:
        said = store.redo(actor()) if redo else store.undo(actor())
    click.echo(said or f"nothing to {'redo' if redo else 'undo'}", err=True)
