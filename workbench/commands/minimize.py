"""``workbench minimize``: shrink findings or files to a minimal repro of the same bug."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from store.records import JSON
from workbench.commands.options import database, db_option, emit, jobs_option, json_option
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from reducers.search import Budget
    from workbench.batch import Batch
    from workbench.reduction import Reduced
    from workbench.servers import Pool

ACTOR = "minimize"


@dataclass(slots=True)
class Target:
    """Something to reduce: a finding's id, or a file; and what became of it. ``test``: of a test file only this test."""

    finding: int | None = None
    file: Path | None = None
    test: str = ""
    reduced: Reduced | None = None
    error: WorkbenchError | None = None

    @property
    def name(self) -> str:
        file = f"{self.file}::{self.test}" if self.test else str(self.file)
        return file if self.file is not None else f"#{self.finding}"


@click.command(name="minimize", short_help="Shrink findings or files to a minimal repro of the same bug.")
@click.argument("targets", nargs=-1, metavar="[ID|FILE|FILE::TEST]...")
@click.option("--all", "everything", is_flag=True, help="Every finding of the store that is not reduced yet.")
@jobs_option
@click.option("--budget", type=click.IntRange(1), metavar="CALLS", help="Oracle calls for each at most; the best so far is kept.")
@click.option("--seconds", type=click.FloatRange(min=1), help="Seconds for each at most; the best so far is kept.")
@click.option("-o", "output", type=click.Path(dir_okay=False, path_type=Path), help="Write the repro here (one target only).")
@click.option("--python", type=click.Path(), help="Interpreter with the torch to judge (default: this one).")
@click.option("--certify/--no-certify", default=True, show_default=True, help="Three cold runs of each result.")
@db_option
@json_option
def command(
    targets: tuple[str, ...],
    *,
    everything: bool,
    jobs: int,
    budget: int | None,
    seconds: float | None,
    output: Path | None,
    python: str | None,
    certify: bool,
    db: str | None,
    as_json: bool,
) -> int:
    """Shrink findings (by id) or program files to a minimal repro of the same bug.

    Program, inputs and configuration shrink together. Ctrl-C keeps the best so far; a second run goes on from there.
    """
    from reducers.search import Budget
    from workbench.servers import Pool

    chosen = _targets(targets, everything=everything, db=db)
    if output is not None and len(chosen) != 1:
        raise WorkbenchError(f"-o {output}: there are {len(chosen)} targets", "name one finding or file with -o")
    limits = Budget(budget, seconds)
    stop = threading.Event()
    with Pool(python=python, jobs=jobs) as pool, _view(chosen, quiet=as_json) as watch:
        run = _Runs(chosen, pool, python, jobs, limits, watch, stop, certify=certify, db=database(db), everything=everything)
        interrupted = run.all()
    elsewhere = 0 if interrupted else sum(t.reduced is None and t.error is None for t in chosen)
    if elsewhere:
        click.echo(f"{elsewhere} reduced by another worker, or to be taken over when its lease ends: workbench stats", err=True)
    documents = [_document(t) for t in chosen if t.reduced is not None or t.error is not None]
    if output is not None and chosen[0].reduced is not None:
        _write(output, chosen[0].reduced.program.source)
    if as_json:
        emit(documents)
    else:
        _print(chosen, output)
    if interrupted:
        raise KeyboardInterrupt
    if len(chosen) == 1 and chosen[0].error is not None:
        raise chosen[0].error
    return 0


def _targets(names: tuple[str, ...], *, everything: bool, db: str | None) -> list[Target]:
    found: list[Target] = []
    for name in dict.fromkeys(names):
        if name.lstrip("#").isdigit() and not Path(name).exists():
            found.append(Target(finding=int(name.lstrip("#"))))
        else:
            file, _, test = name.partition("::")
            found.append(Target(file=Path(file), test=test))
    if everything:
        from store import open_store

        with open_store(database(db)) as store:
            known = {t.finding for t in found}
            found += [Target(finding=r.id) for r in store.find(order="id") if r.reduction != "done" and r.id not in known]
            any_kept = bool(store.count(""))
        if not found:
            told = "every finding of this store is reduced" if any_kept else "no findings in this store yet: workbench fuzz"
            click.echo(told, err=True)
    elif not found:
        raise WorkbenchError("nothing to minimize", "name findings (workbench list) or files, or say --all")
    return found


@dataclass(slots=True)
class _Runs:
    """The reductions of one command, as many at once as there are jobs; one alone gets all workers."""

    targets: list[Target]
    pool: Pool
    python: str | None
    jobs: int
    budget: Budget
    watch: Callable[[Target, Any], None]
    stop: threading.Event
    certify: bool
    db: Path
    everything: bool = False
    batch: Batch | None = field(default=None)

    def all(self) -> bool:
        """Reduce every target; True when it was interrupted."""
        if not any(t.finding is not None for t in self.targets):
            return self._run_all()
        from store import open_store
        from workbench.batch import Batch

        with open_store(self.db) as store:
            workers = self._workers()
            self.batch = Batch(store, self.pool, self.python, workers, self.budget, stopped=self.stop.is_set, certified=self.certify)
            if self.everything:
                for target in self.targets:
                    store.enqueue("reduce", target.finding, actor=ACTOR)
            return self._run_all()

    def _workers(self) -> int:
        return max(1, self.jobs // max(1, len(self.targets)))

    def _run_all(self) -> bool:
        with ThreadPoolExecutor(min(self.jobs, max(1, len(self.targets)))) as threads:
            futures = [threads.submit(self._one, target) for target in self.targets]
            try:
                for future in futures:
                    future.result()
            except KeyboardInterrupt:
                self.stop.set()
                for future in futures:
                    future.cancel()
                return True
        return False

    def _one(self, target: Target) -> None:
        try:
            target.reduced = self._file(target) if target.file is not None else self._finding(target)
        except WorkbenchError as error:
            target.error = error

    def _file(self, target: Target) -> Reduced:
        from workbench.certification import certify
        from workbench.oracle.runs import Setting
        from workbench.programs import read_program
        from workbench.reduction import Reducer

        assert target.file is not None
        program = read_program(target.file)
        if target.test:
            program = replace(program, name=target.name)
        setting = Setting("own", str(target.file.resolve().parent), test=target.test)
        cold = partial(certify, python=self.python, setting=setting) if self.certify else None
        reducer = Reducer(self.pool, setting, self._workers(), self.budget, cold, self.stop.is_set)
        return reducer.run(program, watch=partial(self.watch, target))

    def _finding(self, target: Target) -> Reduced | None:
        assert self.batch is not None
        assert target.finding is not None
        batch = replace(self.batch, watch=lambda finding, progress: self.watch(target, progress))
        if self.everything:
            return self._leased(batch, target)
        return batch.reduce(target.finding, actor=ACTOR)

    def _leased(self, batch: Batch, target: Target) -> Reduced | None:
        """With --all: the next queued reduction, under a lease, so that several batches share the work; None when others have them all."""
        from workbench.batch import LEASE_SECONDS, held, worker_name

        name = worker_name(threading.get_ident())
        job = batch.store.claim(["reduce"], name, LEASE_SECONDS)
        if job is None or job.finding_id is None:
            batch.store.leave(name)
            return None
        target.finding = job.finding_id
        try:
            with held(batch.store, job, name) as lost:
                done = replace(batch, stopped=lambda: self.stop.is_set() or lost()).reduce(job.finding_id, actor=ACTOR)
            if done.ended == "interrupted":
                batch.store.release(job)
            else:
                batch.store.finish(job, {"ended": done.ended})
        except WorkbenchError as error:
            batch.store.fail(job, error.message)
            raise
        finally:
            batch.store.leave(name)
        return done


def _document(target: Target) -> dict[str, JSON]:
    from workbench.reduction import summary

    name: int | str = target.finding if target.finding is not None else target.name
    if target.reduced is not None:
        return summary(target.reduced, name)
    keys = ("verdict_before", "verdict_after", "source", "config", "oracle_calls", "compiles", "seconds")
    empty: dict[str, JSON] = dict.fromkeys((*keys, "statements_before", "statements_after", "signature"))
    return {"finding": name, **empty, "error": target.error.message if target.error else ""}


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise WorkbenchError(f"{path}: {error.strerror}", "name a file in a folder that exists and that you may write to") from error


def _print(targets: list[Target], output: Path | None) -> None:
    """The program of a single target on stdout, unless it was written to a file, and its numbers on stderr; a table of several on stdout."""
    if len(targets) > 1:
        from workbench.commands.reductions import summary_table

        click.echo(summary_table([_document(t) for t in targets if t.reduced is not None or t.error is not None]))
        return
    for target in targets:
        if target.reduced is not None and output is None:
            click.echo(target.reduced.program.source, nl=False)
        if target.reduced is not None:
            click.echo(_line(target), err=True)


def _line(target: Target) -> str:
    done = target.reduced
    assert done is not None
    p = done.progress
    cold = f", {done.certified[0]} of {done.certified[1]} cold runs" if done.certified[1] else ""
    ended = "" if done.ended == "complete" else f" ({done.ended}: best so far)"
    sizes = f"{p.statements_before} -> {p.statements} statements, {p.bytes_before} -> {len(done.program.source)} bytes"
    flaky = f", flaky: {done.votes[0]} of {done.votes[1]} judgements" if done.votes != (1, 1) else ""
    others = f", {len(done.strangers)} other failures met" if done.strangers else ""
    return f"{target.name}: {sizes}, {p.calls} oracle calls, {p.compiles} compiles, {p.seconds:.0f} s{cold}{flaky}{others}{ended}"


@contextmanager
def _view(targets: list[Target], *, quiet: bool) -> Iterator[Callable[[Target, Any], None]]:
    """A live table on a terminal, nothing elsewhere."""
    from workbench.commands.reductions import live_table

    with live_table([t.name for t in targets], quiet=quiet) as update:
        yield lambda target, progress: update(target.name, progress)
