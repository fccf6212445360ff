"""``workbench show``: one finding in a few lines: verdict, differences, program, history, and what to do next."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from workbench.commands.options import db_option, emit, json_option
from workbench.commands.reading import reading

if TYPE_CHECKING:
    from store import Store
    from store.records import Difference, Program, Verdict
    from store.rows import Event, FindingRow


@click.command()
@click.argument("finding", type=int)
@click.option("--original", is_flag=True, help="The program as it was found, not the reduced one.")
@click.option("--edit", type=int, metavar="JOB", help="Only the program that was edited from the finding and judged as this job.")
@json_option
@db_option
def command(finding: int, db: str | None, *, original: bool, edit: int | None, as_json: bool) -> None:
    """Show finding FINDING."""
    from store.plain import visible

    with reading(db) as store:
        if edit is not None:
            source = _edited(store, finding, edit)
            if as_json:
                emit({"finding": finding, "job": edit, "source": source})
            else:
                click.echo(visible(source) if sys.stdout.isatty() else source, nl=False)
            return
        row = store.finding(finding)
        reduced, verdict = store.reduced(finding), store.reduced_verdict(finding)
        if original or reduced is None or verdict is None:
            program, verdict = store.program(finding), store.verdict(finding)
        else:
            program = reduced
        events = store.events(finding, 200)
        members = store.ids(f"bucket:{row.bucket}", "id")
    if as_json:
        document = {**row.to_json(), "source": program.source, "verdict": verdict.to_json(), "events": [e.to_json() for e in events]}
        emit({**document, "bucket_members": members})
        return
    head = _head(row, verdict, members)
    head[0] += "  (generated title)" if row.generated else ""
    lines = [*head, *_differences(verdict.differences), *_program(program, row, original=original)]
    for line in [*lines, *_history(events), "", f"next: {next_command(row)}"]:
        click.echo(visible(line))


def _edited(store: Store, finding: int, number: int) -> str:
    """The text of an edit, as the person saved it."""
    from store.errors import NotFoundError
    from store.rows import JobKind

    edits = {job.id: str(job.payload.get("program", "")) for job in store.jobs(kind=JobKind.EDIT, finding=finding)}
    if number not in edits:
        hint = f"its edits: {', '.join(map(str, edits))}" if edits else "e in workbench triage edits its program"
        raise NotFoundError(f"no edit {number} of finding {finding}", hint)
    return edits[number]


def next_command(row: FindingRow) -> str:
    """The one command that brings this finding on."""
    from store.records import SIDE_EXITS, State
    from store.rows import Reduction

    if row.state is State.DUPLICATE:
        return f"workbench show {row.duplicate_of}"
    if row.state in SIDE_EXITS or row.state is State.FIXED:
        return "nothing; it is closed (workbench state can open it again)"
    if row.reduction in (Reduction.NONE, Reduction.FAILED):
        return f"workbench minimize {row.id}"
    if row.reduction in (Reduction.QUEUED, Reduction.RUNNING):
        return "workbench work" if row.reduction is Reduction.QUEUED else "wait: it is being reduced"
    if row.state is State.REPORTED:
        return f"workbench state {row.id} fixed, when a newer torch does not show it"
    return f"workbench export {row.id}"


def _head(row: FindingRow, verdict: Verdict, members: Sequence[int]) -> list[str]:
    from store.plain import one_line
    from store.records import LADDER
    from workbench.export.sentences import MARKS, NOISE, STAGES, WARNINGS, replay_effect

    rungs = {backend: place for place, backend in enumerate(LADDER.values())}
    lines = [f"finding {row.id}  {MARKS[row.state]} {row.state}  {one_line(row.title)}"]
    lines.append(f"verdict     {verdict.outcome}" + (f": {one_line(verdict.reason)}" if verdict.reason else ""))
    lines.append(f"symptoms    {' '.join(verdict.symptoms) or '-'}")
    if verdict.stage:
        lines.append(f"stage       {verdict.stage}: {STAGES[verdict.stage]}")
    if verdict.ladder:
        lines.append("ladder      " + "  ".join(f"{b} {verdict.ladder[b]}" for b in sorted(verdict.ladder, key=lambda b: rungs.get(b, 9))))
    if verdict.graph:
        lines.append(f"graph       {verdict.graph}")
    if verdict.guilty or verdict.guilty_asked:
        lines.append(f"guilty      {verdict.guilty or 'no single pass is to blame'}")
    if verdict.replay:
        lines.append(f"replay      {verdict.replay}  ({replay_effect(verdict.replay)})")
    lines += [f"warning     {w}: {WARNINGS[w]}" for w in verdict.warnings]
    if verdict.noise:
        lines.append(f"noise       {verdict.noise.kind}: {NOISE[verdict.noise.kind]}")
    said = ", ".join(f"{k} {v}" for k, v in row.configuration.items()) or "defaults"
    lines.append(f"config      {said}")
    others = [i for i in members if i != row.id]
    lines.append(
        f"bucket      {row.bucket}" + (f", with {len(others)} more: {' '.join(map(str, others[:10]))}" if others else ", alone in it")
    )
    lines.append(f"signature   {row.signature}" + ("" if row.final else "  (provisional)"))
    lines.append(f"comes from  {' > '.join([row.seed or row.origin, *row.mutators])}, found {row.count} times, torch {row.torch}")
    return [*lines, f"labels      {' '.join(row.labels)}"] if row.labels else lines


def _differences(differences: Sequence[Difference]) -> list[str]:
    from workbench.export.sentences import number

    lines: list[str] = []
    for d in differences:
        excused = f"  (excused: {d.excused})" if d.excused else ""
        lines.append(
            f"  {'≈' if d.excused else '✗'} {d.symptom:<9} {d.path} {d.dtype}{list(d.shape) if d.dtype else ''} {d.detail}{excused}".rstrip()
        )
        if d.max_abs is not None:
            lines.append(f"      {d.mismatched} elements, max abs {number(d.max_abs)}, rel {number(d.max_rel)}, ulp {number(d.max_ulp)}")
        lines += [f"      {list(e.index)}  eager {e.eager}  compiled {e.compiled}  float64 {e.float64 or '-'}" for e in d.elements[:4]]
    return ["", "differences", *lines] if lines else []


def _program(program: Program, row: FindingRow, *, original: bool) -> list[str]:
    kind = "original program" if original or row.reduced_sha is None else "reduced program"
    return ["", kind, *(f"    {line}".rstrip() for line in program.source.rstrip().split("\n"))]


def _history(events: Sequence[Event]) -> list[str]:
    from workbench.export.history import event_line

    lines = []
    for event in events[:10]:
        when, what = event_line(event)
        lines.append(f"  {when}  {event.actor:<10} {what}")
    left = [f"  … {len(events) - 10} more"] if len(events) > 10 else []
    return ["", "history", *lines, *left]
