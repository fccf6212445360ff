"""Work on stored findings: reduces, re-judges and gates them one by one, judges what people made of them, and writes what came out back into the store."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from reducers.search import Budget, Progress, Stopped
from store import Store
from store.errors import StoreError
from store.records import EXIT_CODES, JSON, Outcome, Program, Verdict
from store.rows import Job, JobKind
from workbench.cells import CELLS, SAID, filled
from workbench.certification import certify
from workbench.errors import WorkbenchError
from workbench.journal import StoreJournal
from workbench.oracle.judge import Demand, Judge, as_found
from workbench.oracle.runs import Setting
from workbench.programs import parse_program
from workbench.reduction import Reduced, Reducer, summary
from workbench.servers import Pool
from workbench.signature import signature

LEASE_SECONDS = 60.0
RENEWAL_SECONDS = 15.0

Watch = Callable[[int, Progress], None]


def worker_name(number: int = 0) -> str:
    """Who holds a lease: machine, process, thread."""
    return f"{socket.gethostname()}:{os.getpid()}:{number}"


@dataclass
class Batch:
    """Everything that working on the findings of one store needs.

    workers: candidates of one reduction judged at once
    stopped: asked between candidates; once true, a reduction ends with the best so far
    """

    store: Store
    pool: Pool
    python: str | None = None
    workers: int = 1
    budget: Budget = field(default_factory=Budget)
    watch: Watch = lambda finding, progress: None
    stopped: Callable[[], bool] = lambda: False
    certified: bool = True

    def reduce(self, finding: int, *, actor: str) -> Reduced:
        """Reduce a finding and keep the result; what fails differently on the way becomes a finding of its own."""
        program = self.store.program(finding)
        journal = StoreJournal(self.store, self.about(program), finding)
        cold = partial(certify, python=self.python) if self.certified else None
        reducer = Reducer(self.pool, workers=self.workers, budget=self.budget, certify=cold, stopped=self.stopped)
        reduced = reducer.run(program, journal=journal, watch=partial(self.watch, finding), known=self.store.verdict(finding))
        reduced = replace(reduced, before=self.named(reduced.before), after=self.named(reduced.after))
        self._keep(finding, reduced, actor)
        return reduced

    def _keep(self, finding: int, reduced: Reduced, actor: str) -> None:
        final = reduced.ended == "complete"
        with self.store.together():
            self.store.save_reduction(
                finding, reduced.program, reduced.after, reduced.signature, reduced.statistics(), final=final, actor=actor
            )
            for stranger in reduced.strangers:
                told = signature(stranger.verdict, stranger.program.source)
                self.store.add_finding(stranger.program, self.named(stranger.verdict), signature=told, origin="minimize")
        if final and reduced.certified[1]:
            self.store.save_verified(finding, *reduced.certified, actor=actor)

    def recheck(self, finding: int, *, ladder: bool = False) -> Verdict:
        """Judge a finding's program again (its reduced one where there is one) and keep the verdict beside the first."""
        program = self.store.reduced(finding) or self.store.program(finding)
        verdict = self.named(Judge(self.pool).check(program, ladder=ladder))
        self.store.add_run(finding, verdict, purpose="ladder" if ladder else "recheck")
        return verdict

    def grid(self, finding: int) -> dict[str, JSON]:
        """Judge a finding's smallest program under every backend, dynamic and mode that has not been judged yet; each is kept as it comes."""
        program = self.store.reduced(finding) or self.store.program(finding)
        judge, asked, outcomes = Judge(self.pool), Demand(stage=False, confirm=False), dict[str, int]()
        torch = str(self.pool.environment().get("torch", ""))
        known = {c.cell for c in filled(program.configuration, self.store.runs(finding), self.store.events(finding)) if c.torch == torch}
        for cell in CELLS:
            if cell in known:
                continue
            if self.stopped():
                raise Stopped
            candidate = replace(program, configuration=cell.applied(program.configuration))
            verdict = self.named(judge.check(candidate, demand=asked, setting=Setting(said=SAID)))
            self.store.add_run(finding, replace(verdict, configuration=candidate.configuration), purpose=JobKind.GRID.value)
            outcomes[verdict.outcome.value] = outcomes.get(verdict.outcome.value, 0) + 1
        return {"cells": sum(outcomes.values()), "outcomes": outcomes}

    def edit(self, job: Job) -> dict[str, JSON]:
        """Judge a program that a person made of a finding's; a mismatch or an error becomes a finding, and the histories tell what came of it."""
        source, finding = job.payload.get("program"), job.finding_id
        if not isinstance(source, str) or finding is None:
            raise WorkbenchError(f"job {job.id} has no program to judge")
        program = parse_program(source, f"edit:{finding}")
        verdict = self.named(Judge(self.pool, Setting(profile="untrusted")).check(program, ladder=True))
        if self.stopped():
            raise Stopped
        told: dict[str, JSON] = {"verdict": verdict.outcome.value, "exit": EXIT_CODES[verdict.outcome], "reason": verdict.reason}
        with self.store.together():
            if verdict.outcome in (Outcome.MISMATCH, Outcome.ERROR):
                known = signature(verdict, source, final=False)
                seed = f"finding:{self.store.uid(finding)[:12]}"  # its number is another in every store
                row = self.store.add_finding(as_found(program, verdict), verdict, signature=known, origin="edit", seed_name=seed)
                told["became"] = row.id
            self.store.tell_edit(job, verdict.outcome.value, verdict.reason, into=told.get("became"))
        return told

    def gates(self, finding: int) -> dict[str, JSON]:
        """Run the gates of an issue draft in fresh processes."""
        from workbench.export.gates import run_gates, subject_of

        return run_gates(subject_of(self.store, finding), python=self.python).to_json()

    def work(self, job: Job, *, actor: str) -> dict[str, JSON]:
        """Do a job; its result. WorkbenchError says why it cannot be done, Stopped that it was interrupted."""
        if job.finding_id is None:
            raise WorkbenchError(f"job {job.id} names no finding")
        match job.kind:
            case JobKind.REDUCE:
                reduced = self.reduce(job.finding_id, actor=actor)
                if reduced.ended == "interrupted":
                    raise Stopped
                return summary(reduced, job.finding_id)
            case JobKind.GATES:
                return self.gates(job.finding_id)
            case JobKind.GRID:
                return self.grid(job.finding_id)
            case JobKind.EDIT:
                return self.edit(job)
            case kind:
                verdict = self.recheck(job.finding_id, ladder=kind is JobKind.LADDER)
                return {"verdict": verdict.outcome.value, "exit": EXIT_CODES[verdict.outcome], "reason": verdict.reason}

    def about(self, program: Program) -> dict[str, JSON]:
        """What judgements depend on besides the candidate."""
        environment = self.pool.environment()
        told = {k: environment.get(k) for k in ("torch", "capability", "cpu_capability", "compiler", "threads")}
        return {**told, "program": program.sha, "config": program.configuration.to_json()}

    def named(self, verdict: Verdict) -> Verdict:
        """The verdict with the torch and machine that gave it."""
        environment = self.pool.environment()
        names = ("cpu", "capability", "cpu_capability", "compiler", "python")
        machine: dict[str, JSON] = {k: environment[k] for k in names if k in environment}
        machine["threads"] = verdict.configuration.threads
        return replace(verdict, torch=str(environment.get("torch", "")), machine=machine)


@contextmanager
def held(store: Store, job: Job, worker: str) -> Iterator[Callable[[], bool]]:
    """Keeps the lease on a job while the block runs; the function it gives says whether it was lost to somebody else."""
    done, lost = threading.Event(), threading.Event()

    def renew() -> None:
        while not done.wait(RENEWAL_SECONDS):
            try:
                if not store.renew(job, worker, LEASE_SECONDS):
                    lost.set()
                    return
            except StoreError:
                continue  # busy for longer than its timeout; the lease outlives three renewals

    thread = threading.Thread(target=renew, name=f"lease-{job.id}", daemon=True)
    thread.start()
    try:
        yield lost.is_set
    finally:
        done.set()
        thread.join()
