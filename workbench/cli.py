"""The command ``workbench``: a lazy click group, so that ``--help`` pays for click alone. Exit codes and error texts are made here only."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from typing import NoReturn

import click

from store.plain import visible
from workbench import __version__
from workbench.errors import WorkbenchError
from workbench.llm import secret

COMMANDS: Mapping[str, str] = {
    "check": "Judge programs eager against compiled.",
    "fuzz": "Mutate seeds and judge the mutants; real mismatches go into the store.",
    "minimize": "Shrink findings or files to a minimal repro of the same bug.",
    "work": "Consume queued reductions, re-checks, gates and edits.",
    "triage": "Inspect, label and export findings in a terminal.",
    "list": "List findings.",
    "show": "Show one finding.",
    "label": "Add or remove labels.",
    "state": "Set the triage state.",
    "undo": "Undo the last change.",
    "stats": "Numbers about the store and its campaigns.",
    "recheck": "Judge findings again, now or on another torch.",
    "delete": "Delete findings.",
    "import": "Bring in another store, or judge a folder of programs.",
    "backup": "Write a whole copy of the store.",
    "prune": "Forget for good what was deleted or finished long ago.",
    "export": "Write GitHub-ready issue drafts.",
    "seeds": "List bundled seeds or import a folder.",
    "characteristics": "List or show bug characteristics.",
    "mutate": "Write one mutant of a program.",
    "doctor": "Say what this machine has, what is missing and what to do.",
}
"""Name and one-line help; the module is ``workbench.commands.<name>``, imported on use."""


class LazyGroup(click.Group):
    """A group that imports a subcommand's module only when it is invoked or its own help is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"workbench.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="workbench")
@click.option("--db", type=click.Path(dir_okay=False), help="The store (default: WORKBENCH_DB, else workbench.db in the data folder).")
@click.pass_context
def group(context: click.Context, db: str | None) -> None:
    """Triage and minimization of silent correctness bugs in torch.compile."""
    secret.hide()
    context.obj = {"db": db}


def main() -> NoReturn:
    """Run the command line; WorkbenchError becomes two lines on stderr, Ctrl-C exit code 130."""
    try:
        code = group.main(standalone_mode=False)
    except click.exceptions.Abort:
        code = _say("interrupted; what was finished is kept", "", 130)
    except KeyboardInterrupt:
        code = _say("interrupted; what was finished is kept", "", 130)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except WorkbenchError as error:
        code = _say(error.message, error.hint, error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if os.environ.get("WORKBENCH_DEBUG"):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        code = _say(f"a bug in the workbench itself: {told} ({where.filename}:{where.lineno})", "set WORKBENCH_DEBUG=1 for the traceback", 70)
    sys.exit(code if isinstance(code, int) else 0)


def _say(message: str, hint: str, code: int) -> int:
    click.echo(f"error: {visible(message)}", err=True)
    if hint:
        click.echo(f"hint:  {visible(hint)}", err=True)
    return code
