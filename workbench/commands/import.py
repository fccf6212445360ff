"""``workbench import``: another store, or folders of program files, into this store. Nothing that is here is lost or counted twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from store.plain import visible
from store.records import JSON
from workbench.commands.changes import actor
from workbench.commands.options import database, db_option, emit, jobs_option, json_option
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from store import Store

MAGIC = b"SQLite format 3\x00"


@click.command(name="import")
@click.argument("sources", nargs=-1, required=True, metavar="FOLDER|FILE|STORE...", type=click.Path(path_type=Path))
@jobs_option
@click.option("--python", type=click.Path(), help="Interpreter with the torch that judges program files (default: this one).")
@click.option("--reduce/--no-reduce", default=False, show_default=True, help="Queue a reduction for the first finding of each new bucket.")
@db_option
@json_option
def command(sources: tuple[Path, ...], *, jobs: int, python: str | None, reduce: bool, db: str | None, as_json: bool) -> int:
    """Bring findings from elsewhere into this store, by content.

    A STORE brings findings with labels, states, history and reductions; where both sides decided, the later decision holds. Program files are
    judged first, isolated, and kept when they mismatch or err; those that are known are not judged again. One undo takes a store's import back.
    """
    from store import open_store

    stores = [path for path in sources if _is_store(path)]
    folders = [path for path in sources if path not in stores]
    documents: list[dict[str, JSON]] = []
    with open_store(database(db)) as store:
        for path in stores:
            documents.append(_merge(store, path, quiet=as_json))
        if folders:
            documents.append(_judge(store, folders, jobs=jobs, python=python, reduce=reduce, quiet=as_json))
    if as_json:
        emit(documents)
    return 0


def _is_store(path: Path) -> bool:
    if not path.exists():
        raise WorkbenchError(f"{path}: no such file or folder", "name a store, a program file, or a folder of program files")
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _merge(store: Store, path: Path, *, quiet: bool) -> dict[str, JSON]:
    from store.older import readable

    with readable(path) as other:
        merged = store.merge(other, actor=actor(), why=f"import of {path.name}")
    if not quiet:
        parts = [
            f"{merged.new} new findings in {merged.buckets} new buckets",
            f"{merged.known} known",
            f"{merged.changed} with later decisions",
        ]
        parts += [f"{merged.reduced} with their reduction"] if merged.reduced else []
        parts += [f"{merged.deleted} deleted here and left so"] if merged.deleted else []
        also = [f"{merged.events} lines of history"] + ([f"the gates of {merged.gates}"] if merged.gates else [])
        click.echo(f"{path}: {', '.join(parts)}; {', '.join(also)}. workbench undo takes it back", err=True)
        kinds = ((merged.left_calls, "LLM call{}"), (merged.left_jobs, "job{} not done there"))
        left = [f"{n} {what.format('s' if n > 1 else '')}" for n, what in kinds if n]
        if left:
            click.echo(f"note: left in {path.name}: {' and '.join(left)}", err=True)
        for conflict in merged.conflicts:
            click.echo(f"note: {conflict}; left as it is here", err=True)
    return {"source": str(path), **merged.to_json()}


def _judge(store: Store, folders: list[Path], *, jobs: int, python: str | None, reduce: bool, quiet: bool) -> dict[str, JSON]:
    from workbench.intake import Intake

    taken = Intake(store, jobs=jobs, python=python, reduce=reduce, say=lambda text: None if quiet else click.echo(visible(text), err=True))
    return taken.run(folders)
