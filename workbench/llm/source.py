"""The LLM as a source of mutants beside the rules: threads that ask, a bandit over characteristics and seeds, an end that is said once.

Planned in small batches from the results of those before, as the rules are: the same answers give the same questions again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import click

from store.records import JSON, Verdict
from workbench.characteristics import Characteristic
from workbench.errors import WorkbenchError
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import Pick
from workbench.fuzz.mutators import Mutator
from workbench.fuzz.scheduler import Scheduler
from workbench.fuzz.source import Offer
from workbench.fuzz.subject import Subject
from workbench.fuzz.tracing import Runner
from workbench.llm import told
from workbench.llm.author import Author
from workbench.llm.caller import Caller
from workbench.llm.errors import STRIKES, LLMError
from workbench.seeds import Seed

BATCH = 8
"""Questions in a batch; batch n is planned from the results of batches up to n-2."""
AHEAD = 2
"""Mutants that wait to be judged, for each thread that asks; more are not asked for, since they cost."""
MISSES = 20
"""Questions in a row that a replay may find no answer to."""

LEAVE = 3.0
"""Seconds at most until the threads have kept the call that was on its way at the end (``patience.LEAVE``)."""


@dataclass(slots=True)
class Questions:
    """A ``fuzz.source.Source``.

    jobs: questions at once
    say:  hears, once, why no more is asked; stderr by default
    """

    caller: Caller
    runner: Runner
    characteristics: Mapping[str, Characteristic]
    seeds: Sequence[Seed]
    number: int = 0
    jobs: int = 1
    say: Callable[[str], None] = field(default=lambda text: click.echo(text, err=True))
    error: WorkbenchError | None = None
    valid: int = 0
    judged: int = 0
    _ready: deque[Offer] = field(default_factory=deque)
    _state: threading.Condition = field(default_factory=threading.Condition)
    _threads: list[threading.Thread] = field(default_factory=list)
    _picks: deque[Pick] = field(default_factory=deque)
    _results: dict[int, dict[int, tuple[Sequence[str], str, float]]] = field(default_factory=dict)
    _calls: dict[int, tuple[int, str, str]] = field(default_factory=dict)
    _tried: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _told_tried: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _scheduler: Scheduler | None = None
    _author: Author | None = None
    _batch: int = 0
    _strikes: int = 0
    _stopped: bool = False

    def tell(self, say: Callable[[str], None]) -> None:
        """Who hears of the end."""
        self.say = say

    def start(self, campaign: int) -> None:
        """Begin to ask."""
        self.caller.campaign = campaign
        self._author = Author(self.caller, self.runner)
        arms = [Mutator(c.id, (c.id,), _no_rule) for c in self.characteristics.values()]
        self._scheduler = Scheduler(self.number, arms, self.seeds, size=BATCH)
        for n in range(self.jobs):
            thread = threading.Thread(target=self._work, name=f"llm-{n}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def take(self) -> Offer | None:
        """The oldest mutant that is ready."""
        with self._state:
            offer = self._ready.popleft() if self._ready else None
            self._state.notify_all()
            return offer

    def wait(self, seconds: float) -> None:
        """Until something is ready, or over."""
        with self._state:
            self._state.wait_for(lambda: bool(self._ready) or self._is_over(), seconds)

    def told(self, number: int, verdict: Verdict | None, earned: float, finding: int | None) -> None:
        """Note the verdict on the call, and what it earned."""
        with self._state:
            call, characteristic, seed = self._calls.pop(number)
            self.judged += 1
            self._result(number, characteristic, seed, earned)
        self.caller.store.judge_llm_call(call, verdict.outcome.value if verdict else "invalid", finding)

    def is_over(self) -> bool:
        """Nothing is ready and nobody asks any more."""
        with self._state:
            return self._is_over()

    def stop(self) -> None:
        """Ask no more; an answer that is still on its way is not waited for."""
        with self._state:
            self._stopped = True
            self._state.notify_all()
        self.caller.stop.set()
        end = time.monotonic() + LEAVE
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def described(self) -> Mapping[str, JSON]:
        """``{"model": ..., "endpoint": ...}``; an endpoint without a name is the store, whose answers are replayed."""
        return {"model": told.line(self.caller.model, 120), "endpoint": self.caller.endpoint.host}

    def line(self) -> str:
        """``llm 12 answers, 5 valid, 4 judged``."""
        ended = f", ended: {self.error.message}" if self.error else ""
        return f"llm {self.caller.answers} answers, {self.valid} valid, {self.judged} judged{ended}"

    def _is_over(self) -> bool:
        return not self._ready and not self._calls and (self._stopped or not any(t.is_alive() for t in self._threads))

    # ---- in the threads that ask ---------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            pick = self._next()
            if pick is None:
                return
            try:
                self._answer(pick)
            except LLMError as error:
                self._failed(pick, error)
            except WorkbenchError as error:  # no server, or the store is gone: the campaign will meet it too
                self._end(error)
            except Exception as error:
                self._end(WorkbenchError(f"a bug in the workbench itself, while asking: {type(error).__name__}: {error}"))

    def _next(self) -> Pick | None:
        """The next question; waits while enough mutants are ready or the batch before the last is not judged. None: ask no more."""
        with self._state:
            while not self._stopped and self.error is None:
                if len(self._ready) < AHEAD * self.jobs and (self._picks or self._plan()):
                    return self._picks.popleft()
                self._state.wait(0.5)
            return None

    def _plan(self) -> bool:
        assert self._scheduler is not None
        if self._batch >= 2:
            done = self._results[self._batch - 2]
            if len(done) < BATCH:
                return False
            self._scheduler.learn([done[n] for n in sorted(done)])
            del self._results[self._batch - 2]
        self._results[self._batch] = {}
        self._picks.extend(self._scheduler.plan(self._batch))
        for pick in self._picks:
            self._told_tried[pick.number] = tuple(self._tried.get(self._pair(pick), ()))
        self._batch += 1
        return True

    def _pair(self, pick: Pick) -> tuple[str, str]:
        assert pick.mutator is not None
        return pick.mutator.name, pick.seeds[0].name

    def _answer(self, pick: Pick) -> None:
        assert self._author is not None
        characteristic, seed = self._pair(pick)
        sample = Draw(self.number, "llm", pick.number).whole(0, 2**31 - 1)
        tried = self._told_tried.pop(pick.number)
        written = self._author.write(self.characteristics[characteristic], pick.seeds[0], sample=sample, tried=tried)
        with self._state:
            self._strikes = 0
            if written.mutant is None:
                self._result(pick.number, characteristic, seed, 0.0)
            else:
                self.valid += 1
                self._tried.setdefault((characteristic, seed), []).append(written.mutant.chain[0].partition(" ")[2])
                self._calls[pick.number] = (written.calls[-1], characteristic, seed)
                self._ready.append(Offer(pick.number, written.mutant))
            self._state.notify_all()

    def _result(self, number: int, characteristic: str, seed: str, earned: float) -> None:
        self._results[number // BATCH][number] = ((characteristic,), seed, earned)
        self._state.notify_all()

    def _failed(self, pick: Pick, error: LLMError) -> None:
        with self._state:
            self._result(pick.number, *self._pair(pick), 0.0)
            self._strikes += 1
            enough = self._strikes >= (MISSES if error.kind == "unrecorded" else STRIKES)
        if error.ends or enough:
            self._end(error)

    def _end(self, error: WorkbenchError) -> None:
        with self._state:
            first = self.error is None and not self._stopped
            self.error = error if first else self.error
            self._state.notify_all()
        if first:
            self.say(f"LLM: {error.message}; no more is asked" + (f" ({error.hint})" if error.hint else ""))


def _no_rule(subject: Subject, draw: Draw) -> str | None:
    raise AssertionError("an LLM's characteristic is no rule")
