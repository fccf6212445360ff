"""``workbench label``: put labels on findings and take them off."""

from __future__ import annotations

import click

from workbench.commands.changes import actor, parse_labels, split_ids
from workbench.commands.options import db_option
from workbench.commands.reading import changing
from workbench.errors import WorkbenchError


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True, metavar="ID... LABEL...")
@db_option
def command(words: tuple[str, ...], db: str | None) -> None:
    """Label findings: workbench label 3 5 +silent -flaky. A label without a sign is put on."""
    ids, rest = split_ids(words)
    add, remove = parse_labels(rest)
    if not (add or remove):
        raise WorkbenchError("no label is named", "workbench label 3 5 +silent -flaky")
    with changing(db) as store:
        changed = store.label(ids, add, remove, actor=actor())
    click.echo(f"{len(changed)} of {len(ids)} findings changed; workbench undo takes it back", err=True)
