"""``workbench prune``: forget for good what was deleted or finished long ago, and shrink the file."""

from __future__ import annotations

import re
import sys

import click

from workbench.commands.options import db_option, emit, json_option
from workbench.commands.reading import changing
from workbench.errors import WorkbenchError

UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}


@click.command()
@click.option("--older", default="30d", show_default=True, metavar="AGE", help="Only what was deleted or finished so long ago (m h d w).")
@click.option("--dry-run", is_flag=True, help="Only say what would be forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@db_option
@json_option
def command(*, older: str, dry_run: bool, yes: bool, db: str | None, as_json: bool) -> None:
    """Forget deleted findings with their history, finished jobs, texts that nothing names, remembered verdicts.

    This cannot be undone: `workbench backup` first. Findings that are not deleted stay, whatever their age.
    """
    seconds = _seconds(older)
    with changing(db) as store:
        would = store.prune(seconds, dry=True)
        told = f"{would.findings} deleted findings, {would.jobs} finished jobs, {would.texts} texts, {would.memo} remembered verdicts"
        if not dry_run:
            if not yes:
                _ask(told)
            would = store.prune(seconds)
    if as_json:
        emit(would.to_json())
    elif dry_run:
        click.echo(f"would forget {told}", err=True)
    else:
        click.echo(f"forgot {told}; the file is {would.bytes / 1e6:.1f} MB smaller", err=True)


def _ask(told: str) -> None:
    if not sys.stdin.isatty():
        raise WorkbenchError("prune asks first, and there is no terminal to ask on", "add --yes, or --dry-run to only look")
    click.confirm(f"Forget {told} for good?", abort=True, err=True)


def _seconds(age: str) -> float:
    match = re.fullmatch(r"([0-9]{1,6})([mhdw])", age.strip().lower())
    if match is None:
        raise WorkbenchError(f"--older {age!r} is no age", "a number and m, h, d or w: 30d")
    return int(match[1]) * UNITS[match[2]]
