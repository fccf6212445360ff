"""``workbench export``: issue drafts, after their gates have really been run. Drafts only: nothing is sent anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.commands.llm import llm_options
from workbench.commands.options import db_option, emit, jobs_option, json_option
from workbench.commands.reading import changing, reading
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from store import Store
    from workbench.export.draft import Draft


class GateError(WorkbenchError):
    """A draft that must not leave the house as it is."""

    exit_code = 1


@click.command()
@click.argument("findings", nargs=-1, type=int, required=True, metavar="ID...")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False), default=None, help="Write finding-ID.md and finding-ID.py into this folder."
)
@click.option("--force", is_flag=True, help="Also with unmet gates; the draft's first line says so.")
@click.option("--python", default=None, help="The interpreter that runs the gates (default: our own).")
@click.option("--llm-title", is_flag=True, help="Let an LLM propose the title; it is marked as generated; `workbench undo` takes it back.")
@llm_options
@jobs_option
@json_option
@db_option
def command(
    findings: tuple[int, ...],
    output: str | None,
    python: str | None,
    jobs: int,
    db: str | None,
    *,
    force: bool,
    llm_title: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Draft issues from findings: the draft on stdout, or files with -o.

    The gates are run each time in fresh processes (about a minute a finding): the repro fails three times of three, holds without Dynamo and
    with every backend below the stage, is no noise and no duplicate of a reported bucket. Exit 1 when a gate is unmet, unless forced.
    """
    from workbench.export.files import write_draft

    if llm_title:
        _propose(findings, db, options)
    documents, refused = [], []
    with reading(db) as store:
        ids = [store.finding(i).id for i in dict.fromkeys(findings)]
        for finding in ids:
            made = _draft(store, finding, python, jobs, forced=force)
            refusal = bool(made.unmet) and not force
            refused += [made] if refusal else []
            paths = write_draft(made, Path(output)) if output and not refusal else []
            for path in paths:
                click.echo(f"wrote {path}", err=True)
            if as_json:
                documents.append(_document(made, [str(p) for p in paths], refused=refusal))
            elif not output and not refusal:
                click.echo(made.text)
    if as_json:
        emit(documents)
    if refused:
        told = "; ".join(f"finding {d.finding}: {', '.join(g.name for g in d.unmet)}" for d in refused)
        raise GateError(f"unmet gates, nothing exported for {told}", "workbench show ID says more; --force drafts all the same and says so")


def _propose(findings: tuple[int, ...], db: str | None, options: dict[str, Any]) -> None:
    """Titles from an LLM; without one the drafts keep their own, and that is said."""
    from workbench.commands.changes import actor
    from workbench.commands.llm import caller_of
    from workbench.llm.errors import LLMError
    from workbench.llm.titles import propose

    with changing(db) as store:
        try:
            caller = caller_of(store, options)
            for finding in dict.fromkeys(findings):
                title = propose(caller, store, finding, actor=actor())
                click.echo(f"finding {finding}: {f'title proposed: {title}' if title else 'no usable title in the answer'}", err=True)
        except LLMError as error:
            click.echo(f"LLM: {error.message} ({error.hint}); the drafts keep their titles", err=True)


def _draft(store: Store, finding: int, python: str | None, jobs: int, *, forced: bool) -> Draft:
    from workbench.export.draft import draft
    from workbench.export.environment import environment
    from workbench.export.gates import run_gates, subject_of

    subject = subject_of(store, finding)
    click.echo(f"finding {finding}: running its gates", err=True)
    report = run_gates(subject, python=python, jobs=min(jobs, 4), say=lambda text: click.echo(f"  {text}", err=True))
    for gate in report.gates:
        click.echo(f"{gate.sign} {gate.name}: {gate.detail}", err=True)
    return draft(subject, report, environment(python), runs=store.runs(finding), forced=forced)


def _document(made: Draft, paths: list[str], *, refused: bool) -> dict[str, object]:
    return {
        "finding": made.finding,
        "title": made.title,
        "labels": list(made.labels),
        "exported": not refused,
        "unmet": [{"name": g.name, "detail": g.detail} for g in made.unmet],
        "files": paths,
        "draft": made.text,
        "repro": made.repro,
    }
