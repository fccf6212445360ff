"""``python -m workbench.demo``: the whole path once, on a store of its own: fuzz, reduce, draft an issue. What `make demo` runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from store import Store, open_store
from store.records import Outcome, State
from store.rows import FindingRow, Reduction
from workbench import characteristics
from workbench.commands.options import cores
from workbench.errors import WorkbenchError
from workbench.export.draft import draft
from workbench.export.environment import environment
from workbench.export.gates import Report, run_gates, subject_of, unrun
from workbench.fuzz.arrival import PLAIN
from workbench.fuzz.campaign import Campaign, Settings
from workbench.fuzz.mutators import mutators
from workbench.fuzz.session import fuzz
from workbench.seeds import bundled
from workbench.servers import Pool

FUZZ_SECONDS = 110.0
REDUCED_BY = 220.0
"""Seconds from the start at which reductions end, however slow the machine was until then."""
ALL_SECONDS = 330.0
"""Gates are not started for another finding when less than ``GATE_SECONDS`` of this is left."""
GATE_SECONDS = 75.0
DEMO_SEED = 5


class NothingFoundError(WorkbenchError):
    """The demo ended without a real, reduced mismatch."""

    exit_code = 1


def main() -> int:
    """Run the demo; 0 when it ends with a real, reduced mismatch."""
    try:
        return _demo(Path("demo"), time.monotonic())
    except KeyboardInterrupt:
        click.echo("interrupted; what was found is in demo/workbench.db", err=True)
        return 130
    except WorkbenchError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"hint:  {error.hint}", err=True)
        return error.exit_code


def _demo(folder: Path, started: float) -> int:
    path = _fresh(folder)
    with open_store(path) as store:
        _find(store, started)
        row = _best(store)
        click.echo(f"\n{store.count()} findings; the first issue draft, of #{row.id}:\n", err=True)
        click.echo(_drafted(store, started + ALL_SECONDS))
    click.echo(f"look at everything it found:  workbench --db {path} triage")
    return 0


def _fresh(folder: Path) -> Path:
    """An empty place for the store; what an earlier demo left there goes."""
    path = folder / "workbench.db"
    try:
        folder.mkdir(exist_ok=True)
        for old in (path, path.with_name("workbench.db-wal"), path.with_name("workbench.db-shm")):
            old.unlink(missing_ok=True)
    except OSError as error:
        raise WorkbenchError(f"{folder}: cannot be written ({error.strerror})", "run the demo in a folder of your own") from error
    return path


def _find(store: Store, started: float) -> None:
    jobs = cores()
    settings = Settings(seconds=FUZZ_SECONDS, jobs=jobs, seed=DEMO_SEED)
    click.echo(f"fuzzing {len(bundled())} programs for {FUZZ_SECONDS:.0f} s on {jobs} cores", err=True)
    with Pool(jobs=jobs) as pool:
        campaign = Campaign(store, pool, settings, list(mutators().values()), bundled(), characteristics.codes())
        fuzz(campaign, wind_down=lambda: started + REDUCED_BY - time.monotonic())


def _best(store: Store) -> FindingRow:
    rows = _reduced(store)
    if not rows:
        raise NothingFoundError(
            "nothing real was found and reduced in this time",
            f"{store.count()} findings, none reduced; a busy machine? continue with: workbench --db demo/workbench.db work",
        )
    return rows[0]


def _reduced(store: Store) -> list[FindingRow]:
    """Reduced mismatches, the ones to show first in front: confirmed, of a plain symptom, small."""
    found = [r for r in store.find() if r.reduction is Reduction.DONE]
    found = [r for r in found if (v := store.reduced_verdict(r.id)) is not None and v.outcome is Outcome.MISMATCH]
    return sorted(found, key=lambda r: (r.state is not State.CONFIRMED, not PLAIN & set(r.symptoms), r.statements, r.id))


def _drafted(store: Store, deadline: float) -> str:
    """The draft of the first finding whose gates are met; when time is up, of the first, forced, which it says itself."""
    reports: list[tuple[FindingRow, Report]] = []
    for row in _reduced(store):
        subject = subject_of(store, row.id)
        if time.monotonic() > deadline - GATE_SECONDS:
            break
        report = run_gates(subject, jobs=min(4, cores()), say=lambda text: click.echo(f"  {text}", err=True))
        if report.met:
            return draft(subject, report, environment()).text
        reports.append((row, report))
    row, report = reports[0] if reports else (_best(store), unrun(subject_of(store, _best(store).id)))
    return draft(subject_of(store, row.id), report, environment(), forced=True).text


if __name__ == "__main__":
    sys.exit(main())
