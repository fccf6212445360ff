"""Reductions beside a running campaign: threads that take queued reductions, on the servers of the tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from reducers.search import Budget, Progress, Stopped
from store import open_store
from store.rows import Job, JobKind
from workbench.batch import LEASE_SECONDS, Batch, held, worker_name
from workbench.errors import WorkbenchError
from workbench.servers import Pool

BUDGET = Budget(calls=600, seconds=240.0)
"""What one reduction may cost inside a campaign; `workbench minimize` goes on from there."""
IDLE_SECONDS = 0.5


@dataclass(slots=True)
class Reductions:
    """Threads that reduce what is queued, each on its own connection to the store. ``start``, then ``wind_down`` or ``stop``.

    done:    ids of reduced findings
    current: {finding: progress} of what runs now
    """

    path: Path
    pool: Pool
    python: str | None = None
    threads: int = 1
    say: Callable[[str], None] = lambda text: None
    done: list[int] = field(default_factory=list)
    current: dict[int, Progress | None] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _no_more: threading.Event = field(default_factory=threading.Event)
    _running: list[threading.Thread] = field(default_factory=list)

    def start(self, threads: int | None = None) -> None:
        """Start threads; may be called again for more of them."""
        for _ in range(self.threads if threads is None else threads):
            thread = threading.Thread(target=self._loop, args=(len(self._running),), name=f"reduce-{len(self._running)}", daemon=True)
            self._running.append(thread)
            thread.start()

    def busy(self) -> int:
        """Reductions under way."""
        return len(self.current)

    def wind_down(self, seconds: float) -> None:
        """Let the queue run empty, for at most so long; then stop, unfinished ones going back into the queue."""
        self._no_more.set()
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(t.is_alive() for t in self._running):
            time.sleep(0.1)
        self.stop()

    def stop(self) -> None:
        """End at the next candidate."""
        self._stop.set()
        for thread in self._running:
            thread.join(60)

    def _loop(self, number: int) -> None:
        name = worker_name(900 + number)
        with open_store(self.path) as store:
            batch = Batch(store, self.pool, self.python, budget=BUDGET, watch=self._watch, stopped=self._stop.is_set)
            try:
                while not self._stop.is_set():
                    job = store.claim([JobKind.REDUCE], name, LEASE_SECONDS)
                    if job is not None:
                        self._work(batch, job, name)
                    elif self._no_more.is_set():
                        return
                    else:
                        self._stop.wait(IDLE_SECONDS)
            finally:
                store.leave(name)

    def _work(self, batch: Batch, job: Job, name: str) -> None:
        finding = job.finding_id or 0
        self.current[finding] = None
        try:
            with held(batch.store, job, name) as lost:
                holder = replace(batch, stopped=lambda: self._stop.is_set() or lost())
                result = holder.work(job, actor=name)
            batch.store.finish(job, result)
            self.done.append(finding)
            self.say(f"reduced #{finding}: {result['statements_before']} -> {result['statements_after']} statements")
        except Stopped:
            batch.store.release(job)
        except WorkbenchError as error:
            batch.store.fail(job, error.message)
        finally:
            self.current.pop(finding, None)

    def _watch(self, finding: int, progress: Progress) -> None:
        self.current[finding] = progress
