"""``workbench check``: judge program files eager against compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from store.records import EXIT_CODES, JSON, MODES, Outcome, Program, Verdict
from workbench.commands.options import database, db_option, emit, jobs_option, json_option
from workbench.commands.steps import Steps, live
from workbench.errors import ProgramError, WorkbenchError

if TYPE_CHECKING:
    from store import Store
    from workbench.oracle.judge import Judge

WEIGHT = (0, 2, 3, 1)
"""With several files the exit code is the largest in this order (DESIGN §3)."""


@click.command(name="check", short_help="Judge programs eager against compiled.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|FOLDER|FILE::TEST... [-- ARGS]", type=click.UNPROCESSED)
@click.option("--backend", help="Backend to judge (default: the block's, else inductor).")
@click.option("--mode", type=click.Choice(MODES), help="torch.compile's mode.")
@click.option("--dynamic/--no-dynamic", default=None, help="Dynamic shapes (default: torch's own).")
@click.option("--grad", is_flag=True, default=None, help="Also compare gradients.")
@click.option("--device", help="Device the program should use.")
@click.option("--threads", type=click.IntRange(1), help="Threads of compiled code.")
@click.option("--seed", type=click.IntRange(0), help="Seed before the file and before the call.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Configuration patch, e.g. inductor.cpp.simdlen=0.")
@click.option("--ladder", is_flag=True, help="Ask every backend, also for programs that agree.")
@jobs_option
@click.option("--python", "python", type=click.Path(), help="Interpreter with the torch to judge (default: this one).")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=180.0, show_default=True, help="Seconds for each run.")
@click.option("--memory", type=click.IntRange(min=256), default=8192, show_default=True, help="MB for each run.")
@click.option("--fresh", is_flag=True, help="Judge anew what is remembered.")
@click.option("--save", is_flag=True, help="Keep mismatches and errors in the store.")
@db_option
@json_option
def command(paths: tuple[str, ...], *, as_json: bool, save: bool, db: str | None, **options: Any) -> int:
    """Judge program files eager against compiled.

    A file is a program (fn or Model, and get_inputs) or a script that calls torch.compile itself; of a test file name one test,
    test_file.py::Class::test.

    Exit code: 0 agree or noise, 1 mismatch or error, 2 invalid, 3 undecided. Arguments after -- go to the programs.
    """
    files, arguments = _split(paths)
    overrides = _overrides(options)
    memory = _memory(db)
    steps: dict[str, Steps] = {}
    verdicts = list(_judge(files, arguments, overrides, options, memory, steps, quiet=as_json))
    ids = _save(verdicts, database(db)) if save else {}
    if as_json:
        documents = [v.to_json() for _, v in verdicts]
        emit(documents[0] if len(documents) == 1 and len(files) == 1 else documents)
    else:
        _print(verdicts, ids, steps)
    return max((v.exit_code for _, v in verdicts), key=WEIGHT.index, default=0)


def _split(paths: tuple[str, ...]) -> tuple[list[tuple[Path, str]], list[str]]:
    """Files, each with the test that is named in it or "", before ``--``, the programs' arguments after it."""
    from workbench.programs import program_files

    words = list(paths)
    raw = sys.argv[1:]
    arguments: list[str] = []
    if "--" in raw:
        arguments = raw[raw.index("--") + 1 :]
        words = words[: len(words) - len(arguments)]
    if not words:
        raise WorkbenchError("no file named before --", "workbench check FILE... -- ARGS")
    named = [word.partition("::")[::2] for word in words]
    return [(file, test) for path, test in named for file in program_files([Path(path)])], arguments


def _overrides(options: dict[str, Any]) -> dict[str, JSON]:
    from workbench.programs import parse_setting

    chosen = {k: options[k] for k in ("backend", "mode", "dynamic", "grad", "device", "threads", "seed") if options[k] is not None}
    for setting in options["settings"]:
        table, key, value = parse_setting(setting)
        chosen.setdefault(table, {})[key] = value
    return chosen


def _judge(
    files: list[tuple[Path, str]],
    arguments: list[str],
    overrides: dict[str, JSON],
    options: dict[str, Any],
    memory: Store | None,
    steps: dict[str, Steps],
    *,
    quiet: bool,
) -> Iterator[tuple[Program, Verdict]]:
    from workbench.oracle.judge import VERSION, Judge
    from workbench.oracle.memo import Memo
    from workbench.oracle.runs import Setting
    from workbench.runner.protocol import Limits
    from workbench.servers import Pool

    jobs = min(options["jobs"], len(files))
    limits = Limits(seconds=options["timeout"], memory_mb=options["memory"])
    with live(wanted=not quiet and len(files) == 1) as status, Pool(python=options["python"], jobs=jobs) as pool:
        environment = pool.environment()
        judge = Judge(pool, memo=Memo(memory, environment, VERSION, fresh=options["fresh"]) if memory is not None else None)

        def one(file: tuple[Path, str]) -> tuple[Program, Verdict]:
            path, test = file
            name = f"{path}::{test}" if test else str(path)
            told = steps[name] = Steps(status)
            setting = Setting("own", str(path.resolve().parent), tuple(arguments), limits, test, frozenset(overrides), tell=told.tell)
            program, verdict = _check_file(judge, path, overrides, setting, ladder=options["ladder"])
            return program, replace(verdict, torch=str(environment.get("torch", "")), machine=_machine(environment, program))

        with _progress(len(files), quiet=quiet) as step, ThreadPoolExecutor(jobs) as workers:
            for program, verdict in workers.map(one, files):
                step(verdict)
                yield program, verdict


def _memory(db: str | None) -> Store | None:
    """The store as memory of verdicts; a store that cannot be used costs only time, so it is told and done without."""
    from store import open_store

    try:
        return open_store(database(db), timeout=5)
    except WorkbenchError as error:
        click.echo(f"note: verdicts are not remembered: {error.message}", err=True)
        return None


def _check_file(judge: Judge, path: Path, overrides: dict[str, JSON], setting: Any, *, ladder: bool) -> tuple[Program, Verdict]:
    """One file's verdict; a file that is no program is ``invalid`` with the reason and the line, like a program that cannot start."""
    from workbench.programs import read_program

    try:
        program = read_program(path, overrides)
    except ProgramError as error:
        told = f"{error.message} ({error.hint})" if error.hint else error.message
        return Program("", name=str(path)), Verdict(Outcome.INVALID, told, file=str(path))
    if setting.test:
        program = replace(program, name=f"{path}::{setting.test}")
    return program, judge.check(program, ladder=ladder, setting=setting)


def _machine(environment: dict[str, JSON], program: Program) -> dict[str, JSON]:
    told: dict[str, JSON] = {k: environment[k] for k in ("capability", "compiler_version", "python", "machine") if k in environment}
    return {**told, "threads": program.configuration.threads}


def _save(verdicts: list[tuple[Program, Verdict]], path: Path) -> dict[str, int]:
    from store import open_store
    from workbench.oracle.judge import as_found
    from workbench.signature import signature

    ids: dict[str, int] = {}
    with open_store(path) as store:
        for program, verdict in verdicts:
            if "::" in program.name:
                click.echo(f"note: {program.name} is not saved: a finding is a file that runs by itself", err=True)
            elif verdict.outcome in (Outcome.MISMATCH, Outcome.ERROR):
                told = signature(verdict, program.source, final=False)
                ids[verdict.file] = store.add_finding(as_found(program, verdict), verdict, signature=told, origin="check").id
    return ids


def _print(verdicts: list[tuple[Program, Verdict]], ids: dict[str, int], steps: dict[str, Steps]) -> None:
    from workbench.oracle.wording import lines

    for _, verdict in verdicts:
        for line in lines(verdict, saved=ids.get(verdict.file)):
            click.echo(line)
        if verdict.file in ids:
            click.echo(f"  saved as finding {ids[verdict.file]}")
        if verdict.file in steps and (took := steps[verdict.file].line()):
            click.echo(f"  took {verdict.seconds:.1f} s: {took}")
    if len(verdicts) > 1:
        counts = {outcome: sum(v.outcome is outcome for _, v in verdicts) for outcome in EXIT_CODES}
        click.echo(f"{len(verdicts)} programs: " + ", ".join(f"{n} {outcome.value}" for outcome, n in counts.items() if n))


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[Verdict], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    if quiet or total < 2 or not sys.stderr.isatty():
        yield lambda verdict: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda verdict: progress.update(task, advance=1, description=f"{verdict.outcome.value} {Path(verdict.file).name}")
