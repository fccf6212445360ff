"""``workbench work``: consume queued reductions, re-checks, gates, ladders and edited programs until the queue is empty."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from store.plain import visible
from workbench.commands.options import database, db_option, emit, jobs_option, json_option
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from store.records import JSON
    from workbench.batch import Batch

IDLE_SECONDS = 1.0


@click.command(name="work", short_help="Consume queued reductions, re-checks, gates and edits.")
@jobs_option
@click.option("--watch", is_flag=True, help="Wait for further jobs instead of ending with the queue.")
@click.option("--once", is_flag=True, help="Take one job and end.")
@click.option("--python", type=click.Path(), help="Interpreter with the torch to judge (default: this one).")
@db_option
@json_option
def command(*, jobs: int, watch: bool, once: bool, python: str | None, db: str | None, as_json: bool) -> int:
    """Consume queued jobs: reduce, recheck, gates, ladder, grid, edit. Several workers share one queue; each holds its job by a lease.

    Ends when the queue is empty, unless --watch. Ctrl-C puts unfinished jobs back.
    """
    from store import open_store
    from workbench.batch import Batch
    from workbench.commands.reductions import live_table, summary_table
    from workbench.servers import Pool

    count = 1 if once else jobs
    stop = threading.Event()
    with open_store(database(db)) as store, Pool(python=python, jobs=count) as pool, live_table(quiet=as_json) as update:
        batch = Batch(store, pool, python, watch=lambda i, p: update(f"#{i}", p), stopped=stop.is_set)
        crew = _Crew(batch, stop, watch=watch, once=once, quiet=as_json)
        interrupted = crew.run(count)
    reductions = [d for d in crew.done if d["kind"] == "reduce"]
    if len(reductions) > 1 and not as_json:
        click.echo(summary_table(reductions))
    if as_json:
        emit(crew.done)
    elif not crew.done:
        click.echo("no queued jobs", err=True)
    if interrupted:
        raise KeyboardInterrupt
    return 0


@dataclass(slots=True)
class _Crew:
    """The threads of one ``work``; each takes a job, does it, takes the next."""

    batch: Batch
    stop: threading.Event
    watch: bool
    once: bool
    quiet: bool
    done: list[dict[str, JSON]] = field(default_factory=list)
    failure: BaseException | None = None

    def run(self, count: int) -> bool:
        """True when it was interrupted."""
        threads = [threading.Thread(target=self._guarded, args=(i,), name=f"work-{i}") for i in range(count)]
        for thread in threads:
            thread.start()
        interrupted = False
        while any(t.is_alive() for t in threads):
            try:
                for thread in threads:
                    thread.join(0.2)
            except KeyboardInterrupt:
                interrupted = True
                self.stop.set()
        if self.failure is not None:
            raise self.failure
        return interrupted

    def _guarded(self, number: int) -> None:
        try:
            self._loop(number)
        except BaseException as error:
            self.failure = error
            self.stop.set()

    def _loop(self, number: int) -> None:
        from store.rows import JobKind
        from workbench.batch import LEASE_SECONDS, worker_name

        store, name = self.batch.store, worker_name(number)
        try:
            while not self.stop.is_set():
                job = store.claim(list(JobKind), name, LEASE_SECONDS)
                if job is not None:
                    self._do(job, name)
                if self.once or (job is None and not self.watch):
                    return
                if job is None:
                    self.stop.wait(IDLE_SECONDS)
        finally:
            store.leave(name)

    def _do(self, job, name: str) -> None:  # type: ignore[no-untyped-def]
        from dataclasses import replace

        from reducers.search import Stopped
        from workbench.batch import held

        store = self.batch.store
        self._say(f"{job.kind.value} #{job.finding_id}")
        with held(store, job, name) as lost:
            batch = replace(self.batch, stopped=lambda: self.stop.is_set() or lost())
            try:
                result = batch.work(job, actor=name)
            except Stopped:
                store.release(job)
                return
            except WorkbenchError as error:
                store.fail(job, error.message)
                result = {"error": error.message}
            else:
                store.finish(job, result)
        self.done.append({"job": job.id, "kind": job.kind.value, "finding": job.finding_id, **result})
        self._say(f"{job.kind.value} #{job.finding_id}: {_told(result)}")

    def _say(self, text: str) -> None:
        if not self.quiet:
            click.echo(visible(text), err=True)


def _told(result: dict[str, JSON]) -> str:
    if "error" in result:
        return f"failed: {result['error']}"
    if "statements_after" in result:
        n, m = result["certified"]
        sizes = f"{result['statements_before']} -> {result['statements_after']} statements"
        return f"{sizes}, {result['oracle_calls']} oracle calls, {n} of {m} cold runs"
    if "cells" in result:
        return f"{result['cells']} configurations judged"
    if "gates" in result:
        return f"{sum(bool(g.get('met')) for g in result['gates'])} of {len(result['gates'])} gates met"
    became = f", finding {result['became']}" if "became" in result else ""
    return f"{result.get('verdict', 'done')}{became}"
