"""``workbench triage``: the TUI. Textual is imported only when it starts."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from workbench.commands.options import database, db_option
from workbench.errors import WorkbenchError


@click.command()
@click.argument("query", nargs=-1)
@click.option("--serve", is_flag=True, help="In a browser of this machine instead of this terminal (extra: serve).")
@click.option("--port", type=click.IntRange(1024, 65535), default=8000, show_default=True, help="Port for --serve.")
@db_option
def command(query: tuple[str, ...], *, serve: bool, port: int, db: str | None) -> None:
    """Inspect, label and export findings in a terminal; QUERY filters them from the start."""
    from workbench.triage.served import DRIVER, end_with_server

    path = database(db)
    in_browser = os.environ.get("TEXTUAL_DRIVER") == DRIVER
    if (
        not serve and not in_browser and not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    ):  # Textual draws on stderr
        raise WorkbenchError("triage needs a terminal", "without one: workbench list, show, label, state, export; or triage --serve")
    from store import open_store
    from store.older import upgrade

    if not path.exists():
        open_store(path).close()
    with contextlib.suppress(WorkbenchError):  # the screen says what is wrong with a store
        upgrade(path)
    if serve:
        from workbench.triage.served import serve as serve_it

        serve_it(path, query, port, say=lambda text: click.echo(text, err=True))
        return
    from workbench.triage.app import TriageApp

    app = TriageApp(path, query=" ".join(query))
    if in_browser:
        end_with_server(lambda: app.call_from_thread(app.exit))
    app.run()
    if app.return_code:  # it broke, or its terminal went away
        raise SystemExit(app.return_code)
