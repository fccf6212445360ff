"""A campaign as a person sees it: started, watched, interrupted, wound down. Draws on stderr only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from store.rows import JobKind, JobState
from workbench.fuzz.arrival import Arrived
from workbench.fuzz.campaign import Campaign, Tested
from workbench.fuzz.reductions import Reductions

if TYPE_CHECKING:
    from rich.console import Group

EVERY = 25
"""Tests between two lines where there is no terminal."""
LAST_FINDINGS = 8
WIND_DOWN = 120.0
"""Seconds that reductions may go on when the tests are done; what is left stays queued."""


def fuzz(
    campaign: Campaign, *, python: str | None = None, quiet: bool = False, wind_down: Callable[[], float] = lambda: WIND_DOWN
) -> Reductions | None:
    """Run a campaign with its reductions and show how it goes; returns what was reduced. KeyboardInterrupt goes through, finished work kept.

    wind_down: asked when the tests are done: seconds that reductions may go on
    """
    reductions = None
    if campaign.settings.reduce:
        half = max(1, campaign.settings.jobs // 2)
        reductions = Reductions(campaign.store.path, campaign.pool, python, threads=half)
        campaign.reducing = reductions.busy
    with _view(campaign, reductions, quiet=quiet):
        try:
            if reductions is not None:
                reductions.start()
            campaign.run()
            if reductions is not None and not campaign.stopped:
                reductions.start(campaign.settings.jobs - reductions.threads)
                reductions.wind_down(max(1.0, wind_down()))
        finally:
            if reductions is not None:
                reductions.stop()
    if not quiet:
        for line in summary(campaign, reductions):
            click.echo(line, err=True)
    return reductions


def summary(campaign: Campaign, reductions: Reductions | None) -> list[str]:
    """What a campaign found, in a few lines."""
    t = campaign.tallies
    lines = [
        f"{t.total.tests} tests in {t.elapsed:.0f} s ({t.per_second:.2f} a second), {_percent(t.total.valid, t.total.tests)} valid: "
        f"{t.total.mismatches} mismatches in {len(campaign.buckets)} buckets, {t.total.noise} noise, {t.total.errors} errors"
    ]
    if campaign.source is not None:
        lines.append(campaign.source.line())
    if reductions is not None:
        queued = sum(job.kind is JobKind.REDUCE for job in campaign.store.jobs(JobState.QUEUED))
        lines.append(f"{len(reductions.done)} findings reduced" + (f"; {queued} still queued: workbench work" if queued else ""))
    if campaign.buckets:
        lines.append("look at them: workbench triage")
    return lines


@contextmanager
def _view(campaign: Campaign, reductions: Reductions | None, *, quiet: bool) -> Iterator[None]:
    if quiet:
        yield
    elif sys.stderr.isatty():
        with _live(campaign, reductions):
            yield
    else:
        say: Callable[[str], None] = lambda text: click.echo(text, err=True)  # noqa: E731
        campaign.on_test = lambda tested: say(_line(campaign)) if campaign.tallies.total.tests % EVERY == 0 and tested.mutant else None
        campaign.on_finding = lambda arrived: say(_told(arrived)) if arrived.first else None
        if reductions is not None:
            reductions.say = say
        yield


@contextmanager
def _live(campaign: Campaign, reductions: Reductions | None) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live

    recent: list[str] = []
    last: list[str] = [""]

    def draw() -> Group:
        return _screen(campaign, reductions, recent, last[0])

    with Live(console=Console(stderr=True), get_renderable=draw, refresh_per_second=4, transient=True):

        def tested(one: Tested) -> None:
            if one.mutant is not None:
                last[0] = f"{one.outcome}  {one.mutant.seed}  {' + '.join(one.mutant.chain)}"

        def found(arrived: Arrived) -> None:
            if arrived.first:
                recent.append(_told(arrived))
                del recent[:-LAST_FINDINGS]

        campaign.on_test, campaign.on_finding = tested, found
        if campaign.source is not None:
            campaign.source.tell(recent.append)
        yield


def _screen(campaign: Campaign, reductions: Reductions | None, recent: list[str], last: str) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[object] = [Text(_line(campaign)), Text(last, style="dim", no_wrap=True, overflow="ellipsis")]
    if recent:
        table = Table(box=None, pad_edge=False, title="buckets, newest last", title_justify="left", show_header=False)
        for text in recent:
            table.add_row(Text(text, no_wrap=True, overflow="ellipsis"))
        parts.append(table)
    for finding, progress in list(reductions.current.items()) if reductions else ():
        told = (
            f"{progress.statements_before} → {progress.statements} statements, {progress.calls} calls, {progress.current}"
            if progress
            else "starting"
        )
        parts.append(Text(f"reducing #{finding}: {told}"))
    return Group(*parts)  # type: ignore[arg-type]


def _line(campaign: Campaign) -> str:
    t = campaign.tallies
    settings = campaign.settings
    goal = f"/{settings.tests}" if settings.tests else ""
    left = f", {max(0, settings.seconds - t.elapsed):.0f} s left" if settings.seconds else ""
    return (
        f"{time.strftime('%H:%M:%S')}  {t.total.tests}{goal} tests, {t.per_second:.2f} a second, {_percent(t.total.valid, t.total.tests)} valid, "
        f"{t.total.mismatches} mismatches in {len(campaign.buckets)} buckets, {t.total.noise} noise, {t.total.errors} errors{left}"
    ) + (f"; {campaign.source.line()}" if campaign.source else "")


def _told(arrived: Arrived) -> str:
    row = arrived.row
    stage = row.stage.value if row.stage else "no stage"
    return f"new bucket {row.bucket}: #{row.id} {stage}, {'+'.join(s.value for s in row.symptoms)}: {', '.join(row.mutators)} on {row.seed}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
