"""``workbench mutate``: one mutant of a program, written or printed; what `fuzz` does, once and in the open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from workbench.commands.llm import llm_options
from workbench.commands.options import database, db_option, emit, json_option
from workbench.errors import NotFoundError, WorkbenchError

ANSWERS = 3
"""Answers that an LLM is asked for, repair turns aside."""


@click.command(name="mutate", short_help="Write one mutant of a program.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--characteristic", metavar="ID", help="Only mutators of this characteristic.")
@click.option("--mutator", "only", metavar="NAME", help="Only this mutator.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Number that decides every choice.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the mutant here instead of printing it.")
@click.option("--python", type=click.Path(), help="Interpreter with the torch to trace with (default: this one).")
@click.option("--llm", is_flag=True, help="Let an LLM write it (needs --characteristic).")
@llm_options
@db_option
@json_option
def command(
    *,
    file: Path,
    characteristic: str | None,
    only: str | None,
    seed: int,
    output: Path | None,
    python: str | None,
    llm: bool,
    db: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Write one mutant of FILE that runs in eager. FILE is run, isolated, to learn its values."""
    if llm:
        if characteristic is None or only is not None:
            raise WorkbenchError("--llm needs --characteristic, and goes with no --mutator", "workbench characteristics list")
        mutant = _written(file, characteristic, seed, python, db, options)
    else:
        mutant = _mutant(file, _mutators(characteristic, only), seed, python)
    if output is not None:
        try:
            output.write_text(mutant.program.source, encoding="utf-8")
        except OSError as error:
            raise WorkbenchError(f"{output}: cannot be written ({error.strerror})", "name another file with -o") from error
    if as_json:
        emit(
            {
                "file": str(file),
                "chain": list(mutant.chain),
                "characteristics": list(mutant.characteristics),
                "source": mutant.program.source,
            }
        )
    elif output is None:
        click.echo(mutant.program.source, nl=False)
    click.echo(f"{', '.join(mutant.chain)}", err=True)
    return 0


def _mutators(characteristic: str | None, only: str | None) -> list[Any]:
    from workbench.characteristics import named
    from workbench.fuzz.mutators import mutators

    every = mutators()
    if only is not None and only not in every:
        raise NotFoundError(f"no mutator {only!r}", f"mutators: {', '.join(every)}")
    if characteristic is not None:
        named(characteristic)
    found = [
        m for m in every.values() if (only is None or m.name == only) and (characteristic is None or characteristic in m.characteristics)
    ]
    if not found:
        raise NotFoundError(f"mutator {only} does not implement {characteristic}", f"workbench characteristics show {characteristic}")
    return found


def _mutant(file: Path, mutators: list[Any], seed: int, python: str | None) -> Any:
    from workbench.fuzz.draw import Draw
    from workbench.fuzz.mutants import Maker, Pick
    from workbench.seeds import folder
    from workbench.servers import Pool

    start = folder([file])[0]
    draw = Draw(seed, "mutate")
    with Pool(python=python) as pool:
        maker = Maker(pool)
        for attempt in range(8):
            mutant = maker.make(Pick(attempt, draw.child(attempt), draw.choice(mutators), [start]))
            if mutant is not None and mutant.valid:
                return mutant
    raise WorkbenchError(f"{file}: no mutant that runs in eager in 8 tries", "does the program itself run? workbench check FILE")


def _written(file: Path, characteristic: str, number: int, python: str | None, db: str | None, options: dict[str, Any]) -> Any:
    """The LLM's mutant, in at most ``ANSWERS`` tries; every call is kept in the store."""
    from store import open_store
    from workbench.characteristics import named
    from workbench.commands.llm import caller_of
    from workbench.llm import told
    from workbench.llm.author import Author
    from workbench.seeds import folder
    from workbench.servers import Pool

    start, wanted = folder([file])[0], named(characteristic)
    with open_store(database(db)) as store, Pool(python=python) as pool:
        author = Author(caller_of(store, options), pool)
        for attempt in range(ANSWERS):
            written = author.write(wanted, start, sample=number * ANSWERS + attempt)
            if written.mutant is not None:
                return written.mutant
            click.echo(f"answer {attempt + 1}: {written.outcome}: {told.line(written.problem, 400)}", err=True)
    raise WorkbenchError(
        f"{file}: no usable mutant in {ANSWERS} answers of {author.caller.model}", "try another --seed, another model, or go without --llm"
    )
