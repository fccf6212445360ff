"""Starting `workbench work` and `workbench fuzz` as processes of their own, which outlive the screen. The screen starts nothing else by itself."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from workbench.errors import WorkbenchError

LOGS = (".work.log", ".fuzz.log")


def start_worker(path: Path) -> str:
    """Start a worker on this store with its output in a file beside it; returns a sentence for the status line."""
    try:
        return f"worker {_start(path, ['work'], LOGS[0])}"
    except OSError as error:
        raise WorkbenchError(f"the job is queued, but no worker could be started ({error.strerror})", "run: workbench work") from error


def start_campaign(path: Path, words: Sequence[str]) -> str:
    """Start a campaign with these options of ``workbench fuzz``."""
    try:
        return f"campaign {_start(path, ['fuzz', *words], LOGS[1])}"
    except OSError as error:
        raise WorkbenchError(f"no campaign could be started ({error.strerror})", f"run: workbench fuzz {shlex.join(words)}") from error


def fuzz_words(text: str) -> list[str]:
    """The options in a line, checked as the command checks them; WorkbenchError says which one is wrong."""
    from workbench.commands.fuzz import command

    try:
        words = shlex.split(text)
        with command.make_context("fuzz", list(words)) as context:
            if context.params.get("minutes") and context.params.get("tests"):
                raise WorkbenchError("--minutes and --tests exclude each other", "give one of them")
    except ValueError as error:
        raise WorkbenchError(f"a quote is not closed ({error})") from error
    except click.ClickException as error:
        raise WorkbenchError(error.format_message()) from error
    except click.exceptions.Exit as error:
        raise WorkbenchError("that would only print help", "give options such as --minutes 10") from error
    return words


def last_lines(path: Path, count: int = 3) -> dict[str, tuple[str, ...]]:
    """The last lines of the logs beside a store, by file name; of those that are there."""
    told: dict[str, tuple[str, ...]] = {}
    for suffix in LOGS:
        log = path.with_name(path.name + suffix)
        try:
            with log.open("rb") as file:
                file.seek(max(0, log.stat().st_size - 4096))
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        if lines:
            told[log.name] = tuple(line[:200] for line in lines[-count:])
    return told


def _start(path: Path, words: Sequence[str], suffix: str) -> str:
    log = path.with_name(path.name + suffix)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench", "--db", str(path.absolute()), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return f"started (process {process.pid}, log {log.name})"
