"""What workers and campaigns do now, in words, with rates and a sparkline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from store.campaigns import silent
from store.records import JSON
from store.rows import Campaign, Job
from workbench.triage.messages import WorkDetail

BARS = "▁▂▃▄▅▆▇█"
SHOWN_JOBS = 6


def spark(values: Sequence[float]) -> str:
    """One block a value, as high as its share of the largest; nothing for no values."""
    top = max(values, default=0.0)
    return "".join(BARS[round((len(BARS) - 1) * v / top)] if top else BARS[0] for v in values)


def campaign_cells(campaign: Campaign) -> tuple[str, ...]:
    """number, state, tests, rate, mismatches, errors, what was asked."""
    n = campaign.counters
    state = (
        "✗ silent"
        if silent(campaign)
        else {"running": "▸ running", "stopping": "… stopping", "finished": "✓ finished"}.get(campaign.state, "! stopped")
    )
    return (
        str(campaign.id), state, str(n.get("tests", 0)), f"{_number(n, 'tests_per_second'):.2f}", str(n.get("mismatches", 0)),
        str(int(_number(n, "errors") + _number(n, "undecided"))), _asked(campaign.settings),
    )  # fmt: skip


def work_content(detail: WorkDetail, rates: Mapping[int, Sequence[float]], chosen: Campaign | None) -> Content:
    """Workers, queue, what runs, the chosen campaign, errors."""
    lines = [_head("Work"), *_workers(detail)]
    lines += [Content(f"  ▸ {_running(job, detail)}") for job in detail.running[:SHOWN_JOBS]]
    if len(detail.running) > SHOWN_JOBS:
        lines.append(Content(f"    and {len(detail.running) - SHOWN_JOBS} more"))
    if chosen is not None:
        lines += [Content(""), *_campaign(chosen, rates.get(chosen.id, ()))]
    lines += [Content(""), _head("Ended last")]
    lines += [_ended(job) for job in detail.ended[:SHOWN_JOBS]] or [Content.styled("  nothing yet", "dim")]
    for name, tail in detail.logs.items():
        lines += [Content(""), Content.styled(f"Last lines of {name}", "bold"), *(Content.styled(f"  {line}", "dim") for line in tail)]
    return Content("\n").join(lines)


def _workers(detail: WorkDetail) -> list[Content]:
    queued = ", ".join(f"{n} {kind}" for kind, n in sorted(detail.queued.items()))
    if not detail.workers:
        lines = [Content("  no worker lives" + (": W starts one" if queued else ""))]
    else:
        lines = [Content(f"  worker {w.name}, since {_time(w.started)}" + ("" if w.jobs else ", idle")) for w in detail.workers]
    return [*lines, Content(f"  queued: {queued or 'nothing'}")]


def _running(job: Job, detail: WorkDetail) -> str:
    told = f"{job.kind} of finding {job.finding_id}, since {_time(job.started)}"
    progress = detail.reductions.get(job.finding_id or 0)
    if job.kind == "reduce" and progress:
        parts = [
            f"{progress[k]} {word}"
            for k, word in (("statements", "statements"), ("calls", "oracle calls"), ("compiles", "compiles"))
            if k in progress
        ]
        told += f": {', '.join(parts)}" if parts else ""
    return told + (f" (try {job.attempts})" if job.attempts > 1 else "")


def _campaign(campaign: Campaign, rates: Sequence[float]) -> list[Content]:
    n = campaign.counters
    tests = max(1.0, _number(n, "tests"))
    lines = [
        _head(f"Campaign {campaign.id}"),
        Content(f"  {campaign.state}, began {_time(campaign.started)}, heard of {_time(campaign.updated)}  {_asked(campaign.settings)}"),
        Content(
            f"  {n.get('tests', 0)} tests, {100 * _number(n, 'valid') / tests:.0f} % valid: {n.get('mismatches', 0)} mismatches, "
            f"{n.get('noise', 0)} noise, {n.get('errors', 0)} errors, {n.get('undecided', 0)} undecided"
        ),
    ]
    if rates:
        lines.append(Content(f"  {spark(rates)}  {rates[-1]:.2f} tests a second now (as long as this view is open)"))
    best = sorted(dict(n.get("by_mutator", {})).items(), key=lambda kv: -kv[1].get("buckets", 0))[:3]
    if best and best[0][1].get("buckets"):
        lines.append(Content("  most buckets: " + ", ".join(f"{name} {c['buckets']}" for name, c in best if c["buckets"])))
    if silent(campaign):
        lines.append(Content("  ✗ not heard of for ten minutes: its process has died; s closes it, what it found is kept"))
    return lines


def _ended(job: Job) -> Content:
    if job.reason:
        return Content.assemble(("  ✗ ", "$text-error"), f"{_time(job.finished)} {job.kind} of finding {job.finding_id}: {job.reason}")
    result = job.result or {}
    told = ""
    if "statements_after" in result:
        told = f": {result.get('statements_before')} → {result['statements_after']} statements, {result.get('oracle_calls')} oracle calls"
    elif "verdict" in result:
        told = f": {result['verdict']}" + (f", finding {result['became']}" if "became" in result else "")
    elif "cells" in result:
        told = f": {result['cells']} configurations"
    return Content(f"  ✓ {_time(job.finished)} {job.kind} of finding {job.finding_id}{told}")


def _asked(settings: Mapping[str, JSON]) -> str:
    parts = [f"{settings['tests']} tests"] if settings.get("tests") else []
    parts += [f"{settings['seconds'] / 60:g} min"] if settings.get("seconds") else []
    parts += [] if parts else ["until stopped"]
    parts += [f"seed {settings.get('seed', 0)}", f"{settings.get('jobs', 1)} jobs"]
    parts += [str(settings["strategy"])] if settings.get("strategy") not in (None, "rules") else []
    parts += ["focus " + " ".join(settings["focus"])] if settings.get("focus") else []
    return ", ".join(parts)


def _number(values: Mapping[str, JSON], key: str) -> float:
    value = values.get(key, 0)
    return float(value) if isinstance(value, int | float) else 0.0


def _time(at: str | None) -> str:
    return (at or "")[11:19] or "–"


def _head(text: str) -> Content:
    return Content.styled(text, "bold")
