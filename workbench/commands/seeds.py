"""``workbench seeds``: list what campaigns start from, import a folder of programs, show one."""

from __future__ import annotations

from pathlib import Path

import click

from store.records import JSON
from workbench.commands.options import data_folder, emit, json_option
from workbench.errors import WorkbenchError
from workbench.seeds import Seed, bundled, imported_folder, named, seeds_of


@click.group(name="seeds", short_help="List bundled seeds or import a folder.")
def command() -> None:
    """Programs that `workbench fuzz` mutates."""


@command.command(name="list")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@json_option
def list_seeds(*, paths: tuple[Path, ...], as_json: bool) -> int:
    """List the bundled seeds, or the programs of PATHS (``opinfo`` or ``opinfo:COUNT``: torch's operator samples)."""
    found = seeds_of(paths)
    if as_json:
        emit([_document(seed) for seed in found])
        return 0
    width = max(len(seed.name) for seed in found)
    for seed in found:
        click.echo(f"{seed.name:{width}}  {seed.about}")
    click.echo(f"{len(found)} seeds", err=True)
    return 0


@command.command(name="show")
@click.argument("name")
def show(*, name: str) -> int:
    """Print a bundled seed."""
    click.echo(named(name).program.source, nl=False)
    return 0


@command.command(name="import")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def import_folder(*, folder: Path, as_json: bool) -> int:
    """Copy the harness-form programs of FOLDER into the data folder; use them with `workbench fuzz --seeds`."""
    target = imported_folder(data_folder()) / folder.resolve().name
    found = seeds_of([folder])
    taken = {seed.name for seed in bundled()}
    try:
        target.mkdir(parents=True, exist_ok=True)
        for seed in found:
            name = seed.name if seed.name not in taken else f"{folder.resolve().name}_{seed.name}"
            (target / f"{name}.py").write_text(seed.program.source, encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"{target}: cannot be written ({error.strerror})", "is the data folder writable? workbench doctor") from error
    if as_json:
        emit({"folder": str(target), "seeds": [seed.name for seed in found]})
    else:
        click.echo(f"{len(found)} seeds in {target}")
        click.echo(f"use them: workbench fuzz --seeds {target}", err=True)
    return 0


def _document(seed: Seed) -> dict[str, JSON]:
    return {
        "name": seed.name,
        "origin": seed.origin,
        "about": seed.about,
        "config": seed.configuration.non_default(),
        "source": seed.program.source,
    }
