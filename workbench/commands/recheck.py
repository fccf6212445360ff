"""``workbench recheck``: judge findings again, now or on another torch, and say what has changed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from store.plain import visible
from store.records import JSON, Outcome, State
from workbench.commands.changes import actor
from workbench.commands.options import db_option, emit, jobs_option, json_option
from workbench.commands.reading import changing
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from store import Store
    from store.records import Verdict
    from store.rows import FindingRow

CLEAN = (Outcome.AGREE, Outcome.NOISE)
"""Verdicts that show the bug no more."""


@click.command()
@click.argument("query", nargs=-1)
@jobs_option
@click.option("--python", type=click.Path(), help="Interpreter with the torch to judge (default: this one).")
@click.option("--ladder", is_flag=True, help="Ask every backend and look for the guilty pass.")
@click.option("--fix", is_flag=True, help="Set findings that no longer show to fixed, with the torch that shows it.")
@db_option
@json_option
def command(query: tuple[str, ...], *, jobs: int, python: str | None, ladder: bool, fix: bool, db: str | None, as_json: bool) -> int:
    """Judge the findings that match QUERY again (default: all that are open or fixed), each its smallest program.

    A fixed finding that shows again on a torch at least as new is regressed by itself. Every verdict is kept with the finding.
    --json: list of `finding before verdict reason state torch`, in the order of the findings' numbers.
    """
    text = " ".join(query)
    with changing(db) as store:
        rows = store.find(text or "state:open,fixed", order="id")
        documents = _all(store, rows, jobs=jobs, python=python, ladder=ladder, fix=fix, quiet=as_json) if rows else []
    if as_json:
        emit(documents)
    elif not rows:
        click.echo("no finding matches" if text else "no open or fixed finding", err=True)
    else:
        click.echo(_summary(documents), err=True)
    return 0


def _all(
    store: Store, rows: list[FindingRow], *, jobs: int, python: str | None, ladder: bool, fix: bool, quiet: bool
) -> list[dict[str, JSON]]:
    from workbench.batch import Batch
    from workbench.servers import Pool

    documents: list[dict[str, JSON]] = []
    with Pool(python=python, jobs=min(jobs, len(rows))) as pool, ThreadPoolExecutor(jobs) as workers:
        batch = Batch(store, pool, python)

        def again(row: FindingRow) -> Verdict | WorkbenchError:
            try:
                return batch.recheck(row.id, ladder=ladder)
            except WorkbenchError as error:
                return error

        for row, verdict in zip(rows, workers.map(again, rows), strict=True):
            if isinstance(verdict, WorkbenchError):
                documents.append(_document(row, "undecided", verdict.message, row.state, ""))
            else:
                if fix and verdict.outcome in CLEAN and State.FIXED in _may_become(row.state):
                    store.set_state([row.id], State.FIXED, actor=actor(), why=f"re-check: {verdict.outcome}", torch=verdict.torch)
                documents.append(_document(row, verdict.outcome.value, verdict.reason, store.finding(row.id).state, verdict.torch))
            if not quiet:
                click.echo(visible(_line(documents[-1])))
    return documents


def _may_become(state: State) -> frozenset[State]:
    from store.states import TRANSITIONS

    return TRANSITIONS[state]


def _document(row: FindingRow, verdict: str, reason: str, state: State, torch: str) -> dict[str, JSON]:
    return {"finding": row.id, "before": row.state.value, "verdict": verdict, "reason": reason, "state": state.value, "torch": torch}


def _line(told: dict[str, JSON]) -> str:
    state = told["state"] if told["state"] == told["before"] else f"{told['before']} → {told['state']}"
    return f"{told['finding']}\t{told['verdict']}\t{state}\t{told['reason']}"


def _summary(documents: list[dict[str, JSON]]) -> str:
    shows = sum(d["verdict"] in ("mismatch", "error") for d in documents)
    gone = sum(d["verdict"] in ("agree", "noise") for d in documents)
    left = [d["finding"] for d in documents if d["verdict"] in ("agree", "noise") and d["state"] not in ("fixed", *_ASIDE)]
    told = f"{len(documents)} re-checked: {shows} still show, {gone} no longer, {len(documents) - shows - gone} undecided"
    regressed = sum(d["state"] == "regressed" and d["before"] == "fixed" for d in documents)
    told += f"; {regressed} regressed" if regressed else ""
    return told + (f". Seen no more and still open: {' '.join(map(str, left[:20]))} (--fix sets them fixed)" if left else "")


_ASIDE = ("flaky", "noise", "expected", "duplicate", "wontfix")
