"""``workbench delete``: hide findings from everything but undo."""

from __future__ import annotations

import sys

import click

from workbench.commands.changes import actor
from workbench.commands.options import db_option
from workbench.commands.reading import changing
from workbench.errors import WorkbenchError


@click.command()
@click.argument("findings", nargs=-1, type=int, required=True, metavar="ID...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@db_option
def command(findings: tuple[int, ...], db: str | None, *, yes: bool) -> None:
    """Delete findings; workbench undo brings them back."""
    with changing(db) as store:
        rows = [store.finding(i) for i in dict.fromkeys(findings)]
        if not yes:
            from workbench.export.sentences import titled

            _ask([f"{row.id}  {titled(row)}" for row in rows])
        changed = store.delete([row.id for row in rows], actor=actor())
    click.echo(f"{len(changed)} findings deleted; workbench undo brings them back", err=True)


def _ask(lines: list[str]) -> None:
    if not sys.stdin.isatty():
        raise WorkbenchError("delete asks first, and there is no terminal to ask on", "add --yes")
    for line in lines[:20]:
        click.echo(line, err=True)
    click.confirm(f"Delete {len(lines)} findings?", abort=True, err=True)
