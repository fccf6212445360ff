"""The configuration tab: configuration, ladder, guilty pass, replay line, signature and bucket, where the finding comes from."""

from __future__ import annotations

from textual.content import Content

from store.edits import made_from
from store.plain import one_line
from store.records import LADDER, MODES, Configuration
from store.rows import JobKind, JobState, Run
from workbench.cells import CELLS, DYNAMIC, ROWS, Cell, filled
from workbench.export.sentences import MARKS, STAGES, replay_effect
from workbench.triage.messages import Detail

SIGNS = {"agree": "✓", "noise": "≈", "mismatch": "✗", "error": "✗", "invalid": "!", "undecided": "?"}
"""How a verdict looks in one cell."""


def configuration_content(detail: Detail) -> Content:
    """What the program is compiled with, and where in the compiler it goes wrong."""
    sections = (_configuration(detail), _ladder(detail), _grid(detail), _bucket(detail), _lineage(detail))
    parts = [line for section in sections for line in (*section, Content(""))][:-1]
    return Content("\n").join(parts)


def _head(text: str) -> Content:
    return Content.styled(text, "bold")


def _pair(name: str, value: str, width: int = 14) -> Content:
    return Content.assemble((f"  {name:<{width}}", "dim"), one_line(value, 1000))


def _configuration(detail: Detail) -> list[Content]:
    program = detail.reduced or detail.program
    said = program.configuration.non_default()
    lines = [_head("Configuration")]
    if not said:
        return [*lines, Content("  all defaults: backend inductor, mode default, dynamic as torch decides")]
    for key, value in said.items():
        if isinstance(value, dict):
            lines += [_pair(f"{key}.{option}", str(setting)) for option, setting in value.items()]
        else:
            lines.append(_pair(key, f"{value}   (default {Configuration().to_json()[key]})"))
    return lines


def _ladder(detail: Detail) -> list[Content]:
    verdict = detail.laddered
    lines = [_head("Ladder")]
    for stage, backend in LADDER.items():
        if backend in verdict.ladder:
            outcome = verdict.ladder[backend]
            here = "   ← goes wrong here" if stage is verdict.stage else ""
            lines.append(_pair(backend, f"{SIGNS.get(outcome, '·')} {outcome}{here}", 30))
    lines += [_pair(b, f"{SIGNS.get(o, '·')} {o}", 30) for b, o in verdict.ladder.items() if b not in LADDER.values()]
    if not verdict.ladder:
        lines.append(Content("  not asked yet: c queues a re-check"))
    if verdict.stage:
        lines.append(_pair("stage", f"{verdict.stage}: {STAGES[verdict.stage]}"))
    if verdict.graph:
        lines.append(_pair("graph", verdict.graph))
    if verdict.guilty or verdict.guilty_asked:
        lines.append(_pair("guilty", verdict.guilty or "no single pass is to blame"))
    if verdict.replay:
        lines.append(_pair("replay", f"{verdict.replay}  ({replay_effect(verdict.replay)})"))
    runs = [run for run in detail.runs if run.purpose != JobKind.GRID]
    if runs:
        lines += [Content(""), _head("Runs"), *(_run(r) for r in runs[:20])]
    return lines


def _grid(detail: Detail) -> list[Content]:
    """Backend and mode down, dynamic across; a dot is not judged yet."""
    configuration = (detail.reduced or detail.program).configuration
    known = {f.cell: f for f in filled(configuration, detail.runs, detail.events)}
    job = next((j for j in detail.jobs if j.kind is JobKind.GRID and j.state in (JobState.QUEUED, JobState.RUNNING)), None)
    told = f"{len(known)} of {len(CELLS)}" + (f", {job.state}" if job else ", f fills it" if len(known) < len(CELLS) else "")
    lines = [
        Content.assemble(("Grid", "bold"), (f"  {told}", "dim")),
        Content.styled(f"  {'dynamic':<30}{'default':<13}{'true':<13}false", "dim"),
    ]
    for backend, mode in ROWS:
        name = backend if mode == MODES[0] else f"  {mode}"
        cells = [known.get(Cell(backend, mode, dynamic)) for dynamic in DYNAMIC]
        lines.append(
            Content(f"  {name:<30}" + "".join(f"{SIGNS.get(c.outcome, '·') + ' ' + c.outcome if c else '·':<13}" for c in cells).rstrip())
        )
    return lines


def _run(run: Run) -> Content:
    plain = Configuration().to_json()
    said = ", ".join(f"{k} {v}" for k, v in run.configuration.items() if plain.get(k) != v) or "defaults"
    return Content(
        f"  {run.at[:16].replace('T', ' ')}  {SIGNS.get(run.outcome, '·')} {run.outcome:<10} {run.purpose:<8} torch {run.torch}  {said}"
    )


def _bucket(detail: Detail) -> list[Content]:
    bucket, row = detail.bucket, detail.row
    others = [i for i in detail.members if i != row.id]
    final = "final" if row.final else "provisional until the finding is reduced"
    lines = [_head("Bucket"), _pair("number", f"{bucket.id}  {bucket.title}"), _pair("signature", f"{row.signature}  ({final})")]
    if others:
        shown = ", ".join(map(str, others[:12])) + (f" and {len(others) - 12} more" if len(others) > 12 else "")
        lines.append(_pair("same bug", f"{shown}   (/ bucket:{bucket.id})"))
    if bucket.leader:
        lines.append(_pair("leader", f"{bucket.leader}{' (this one)' if bucket.leader == row.id else ''}: the smallest reliable repro"))
    if row.duplicate_of:
        lines.append(_pair("duplicate of", str(row.duplicate_of)))
    return lines


def _lineage(detail: Detail) -> list[Content]:
    row = detail.row
    source = made_from(detail.events) if row.origin == "edit" else None
    steps = [row.seed or "no seed" if source is None else f"finding {source}, edited", *row.mutators, f"finding {row.id}"]
    lines = [_head("Comes from"), _pair("lineage", " → ".join(steps)), _pair("origin", row.origin)]
    if row.characteristic:
        lines.append(_pair("characteristic", row.characteristic))
    machine = ", ".join(f"{k} {v}" for k, v in detail.shown.machine.items())
    lines.append(_pair("judged by", f"torch {row.torch}{f' ({machine})' if machine else ''}"))
    lines.append(_pair("found", f"{row.count}×, first {row.created[:16].replace('T', ' ')}, last {row.seen[:16].replace('T', ' ')} UTC"))
    if row.verified[1]:
        lines.append(_pair("verified", f"{row.verified[0]} of {row.verified[1]} cold runs"))
    lines.append(_pair("state", f"{MARKS[row.state]} {row.state}"))
    return lines
