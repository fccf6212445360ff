"""The warnings tab and the history tab: sentences about what to know before trusting a finding, and what has happened to it."""

from __future__ import annotations

from textual.content import Content

from store.rows import JobState
from workbench.export.history import event_line
from workbench.export.sentences import NOISE, WARNINGS
from workbench.triage.messages import Detail


def warnings_content(detail: Detail) -> Content:
    """Each warning as a sentence, the noise verdict, and isolation that was missing."""
    verdict = detail.shown
    lines = [Content.assemble(("! ", "bold $text-warning"), (f"{w}  ", "bold"), WARNINGS[w]) for w in verdict.warnings]
    if verdict.noise:
        numbers = ", ".join(f"{k} {v}" for k, v in verdict.noise.evidence.items())
        lines.append(Content(f"≈ noise ({verdict.noise.kind}): {NOISE[verdict.noise.kind]}{f' [{numbers}]' if numbers else ''}"))
    if verdict.isolation:
        lines.append(
            Content(f"! judged without these layers of isolation: {', '.join(verdict.isolation)} (workbench doctor says what to do)")
        )
    if not lines:
        return Content("✓ No warnings: nothing known speaks against this finding.")
    return Content("\n\n").join(lines)


def history_content(detail: Detail) -> Content:
    """Jobs that wait, run or failed, then events, newest first."""
    lines: list[Content] = []
    for job in detail.jobs:
        if job.state is JobState.DONE:
            continue
        who = f" by {job.worker}" if job.worker and job.state is JobState.RUNNING else ""
        sign = {JobState.QUEUED: "…", JobState.RUNNING: "▸", JobState.FAILED: "✗"}[job.state]
        lines.append(Content(f"{sign} {job.kind} {job.state}{who}{f': {job.reason}' if job.reason else ''}"))
    if lines:
        lines.append(Content(""))
    for event in detail.events:
        when, what = event_line(event)
        lines.append(Content.assemble((f"{when}  ", "dim"), (f"{event.actor:<10} ", "bold"), what))
    lines.append(Content.styled("\nu undoes your last change, Z does it again.", "dim"))
    return Content("\n").join(lines)
