"""``workbench state``: set the triage state of findings."""

from __future__ import annotations

import difflib

import click

from workbench.commands.changes import actor, split_ids
from workbench.commands.options import db_option
from workbench.commands.reading import changing
from workbench.errors import WorkbenchError


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="ID... STATE")
@click.option("--why", default="", help="A reason for the history.")
@click.option("--of", "duplicate_of", type=int, default=None, help="For duplicate: the finding that it repeats.")
@click.option("--torch", default="", help="For fixed: the version that does not show it any more.")
@db_option
def command(words: tuple[str, ...], why: str, duplicate_of: int | None, torch: str, db: str | None) -> None:
    """Set a state: workbench state 3 5 triaged --why "same as in the docs"."""
    ids, rest = split_ids(words)
    from store.records import State

    if len(rest) != 1 or rest[0] not in list(State):
        named = rest[0] if len(rest) == 1 else " ".join(rest) or "nothing"
        close = difflib.get_close_matches(named, list(State), 1)
        guess = f'. Did you mean "{close[0]}"?' if close else ""
        raise WorkbenchError(f'"{named}" is no state', f"states: {', '.join(State)}{guess}")
    with changing(db) as store:
        changed = store.set_state(ids, State(rest[0]), actor=actor(), why=why, duplicate_of=duplicate_of, torch=torch)
    click.echo(f"{len(changed)} of {len(ids)} findings changed; workbench undo takes it back", err=True)
