"""Options that several commands share, each defined once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from store.records import JSON
from workbench.errors import WorkbenchError


def database(db: str | None = None) -> Path:
    """The store's path: ``--db`` > ``WORKBENCH_DB`` > ``workbench.db`` in the platform's data folder (created)."""
    context = click.get_current_context(silent=True)
    root = context.find_root().obj if context else None
    chosen = db or (root or {}).get("db") or os.environ.get("WORKBENCH_DB")
    if chosen:
        path = Path(chosen)
        if not path.parent.is_dir():
            raise WorkbenchError(f"{path}: its folder does not exist", "create the folder, or name another file with --db")
        return path
    folder = data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbenchError(f"{folder}: cannot be created ({error.strerror})", "name a file with --db or WORKBENCH_DB") from error
    return folder / "workbench.db"


def data_folder() -> Path:
    """Where this platform keeps a program's data, ending in ``torch-compile-workbench``."""
    import platformdirs

    return Path(platformdirs.user_data_path("torch-compile-workbench"))


def db_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--db FILE`` on a subcommand; wins over the group's."""
    return click.option("--db", type=click.Path(dir_okay=False), default=None, help="The store to use.")(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--json``: one JSON document on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)


def jobs_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--jobs N``: servers at once (default: the cores)."""
    return click.option("--jobs", type=click.IntRange(1, 256), default=cores, show_default="cores", help="Servers at once.")(function)


def cores() -> int:
    """CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def emit(document: JSON) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
