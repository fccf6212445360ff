"""One `workbench fuzz`: plans tests, has them judged on all servers, keeps what mismatches, counts the rest.

The calling thread is the only one that writes findings; a test that has come back is in the store before the next is handed out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from store.records import JSON, LADDER, Outcome, Stage, Verdict
from store.store import Store
from workbench.errors import RunnerError
from workbench.fuzz.arrival import Arrived, arrive, provisional
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import Maker, Mutant, Pick
from workbench.fuzz.mutators import Mutator
from workbench.fuzz.scheduler import BATCH, Scheduler, reward
from workbench.fuzz.tallies import Tallies
from workbench.fuzz.tracing import LIMITS
from workbench.fuzz.watched import Watched
from workbench.oracle.judge import Judge
from workbench.oracle.runs import Setting
from workbench.seeds import Seed
from workbench.servers import Pool

CHEAP = LADDER[Stage.DECOMPOSITION]
CHEAP_SHARE = 0.75
"""Share of mutants of rules that need no code generation which stop at the backend before Inductor."""
SETTING = Setting("untrusted", None, (), replace(LIMITS, seconds=60.0))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a campaign was asked for. Exactly one of ``tests`` and ``seconds`` ends it; with neither it runs until it is stopped."""

    seed: int = 0
    tests: int | None = None
    seconds: float | None = None
    jobs: int = 1
    strategy: str = "rules"
    reduce: bool = True
    focus: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in ("seed", "tests", "seconds", "jobs", "strategy", "reduce", "focus", "only")}


@dataclass(frozen=True, slots=True)
class Tested:
    """One finished test. ``mutant`` is None when the mutator found nothing to work on; ``verdict`` when eager does not run it."""

    pick: Pick
    mutant: Mutant | None
    verdict: Verdict | None
    behaviour: frozenset[str]
    seconds: float

    @property
    def outcome(self) -> str:
        return self.verdict.outcome.value if self.verdict else Outcome.INVALID.value


@dataclass(slots=True)
class Campaign:
    """Runs tests until its settings say stop. ``on_test`` hears of every finished test, ``on_finding`` of every stored mismatch.

    tester: does one test, called in worker threads; None: makes the mutant and judges it on the pool
    """

    store: Store
    pool: Pool
    settings: Settings
    mutators: Sequence[Mutator]
    seeds: Sequence[Seed]
    codes: Mapping[str, str]
    on_test: Callable[[Tested], None] = lambda tested: None
    on_finding: Callable[[Arrived], None] = lambda arrived: None
    tester: Callable[[Pick], Tested] | None = None
    tallies: Tallies = field(default_factory=Tallies)
    buckets: dict[int, float] = field(default_factory=dict)
    id: int = 0
    stopped: bool = False
    _environment: Mapping[str, JSON] = field(default_factory=dict)
    _started: float = 0.0
    _known: set[str] = field(default_factory=set)
    _words: set[str] = field(default_factory=set)
    _batches: dict[int, dict[int, Tested]] = field(default_factory=dict)
    _counted: float = 0.0
    _looked: float = 0.0

    def run(self) -> None:
        """Run to the end. KeyboardInterrupt goes through after what is finished is kept and the campaign closed as interrupted."""
        self.id = self.store.start_campaign(
            {**self.settings.to_json(), "seeds": len(self.seeds), "mutators": [m.name for m in self.mutators]}
        )
        state = "interrupted"
        self._environment = self.pool.environment()
        self._started = time.monotonic()
        try:
            self._loop()
            state = "interrupted" if self.stopped else "finished"
        finally:
            self.tallies.elapsed = self._elapsed()
            self.store.finish_campaign(self.id, self.tallies.to_json(self.codes), state=state)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _loop(self) -> None:
        scheduler = Scheduler(self.settings.seed, self.mutators, self.seeds, self.settings.strategy)
        waiting: set[Future[Tested]] = set()
        picks = self._picks(scheduler)
        test = self.tester or _Tester(self.pool).test
        workers = ThreadPoolExecutor(self.settings.jobs, thread_name_prefix="test")
        try:
            exhausted = False
            while True:
                while not exhausted and len(waiting) < self.settings.jobs * 2 and not self._time_is_up():
                    pick = next(picks, None)
                    if pick is None:
                        exhausted = True
                    elif pick == "wait":
                        break
                    else:
                        assert isinstance(pick, Pick)
                        waiting.add(workers.submit(test, pick))
                if not waiting:
                    return
                done, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                self._look()
                for future in done:
                    self._finished(future.result(), scheduler)
                if self._time_is_up():
                    waiting = {f for f in waiting if not f.cancel()}
        finally:
            workers.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> None:
        """Whether somebody asked this campaign to stop (`workbench triage` does), about once a second."""
        if self._elapsed() - self._looked > 1.0:
            self._looked = self._elapsed()
            self.stopped = self.store.campaign(self.id).state == "stopping"

    def _time_is_up(self) -> bool:
        return self.stopped or (self.settings.seconds is not None and self._elapsed() >= self.settings.seconds)

    def _picks(self, scheduler: Scheduler) -> Iterator[Pick | str]:
        """Picks in order; ``"wait"`` while the batch before the last is not finished (see ``scheduler.BATCH``)."""
        batch = 0
        while True:
            while batch >= 2 and not self._batch_is_done(batch - 2):
                yield "wait"
            if batch >= 2:
                scheduler.learn(self._rewards(self._batches.pop(batch - 2)))
            self._batches[batch] = {}
            for pick in scheduler.plan(batch):
                if self.settings.tests is not None and pick.number >= self.settings.tests:
                    return
                yield pick
            batch += 1

    def _batch_is_done(self, batch: int) -> bool:
        return len(self._batches[batch]) == BATCH

    def _rewards(self, results: Mapping[int, Tested]) -> list[tuple[Sequence[str], str, float]]:
        """In the order of test numbers, so that what counts as new does not depend on which test was quicker."""
        found: list[tuple[Sequence[str], str, float]] = []
        for _, tested in sorted(results.items()):
            mutant, verdict = tested.mutant, tested.verdict
            if mutant is None or not mutant.mutators:
                continue
            text = provisional(mutant, verdict).text() if verdict and verdict.outcome is Outcome.MISMATCH else None
            new = text is not None and text not in self._known
            earned = reward(
                tested.outcome,
                valid=mutant.valid,
                new_bucket=new,
                known=text is not None and not new,
                new_behaviour=bool(tested.behaviour - self._words),
            )
            if text is not None:
                self._known.add(text)
            self._words |= tested.behaviour
            found.append((mutant.mutators, mutant.seed, earned))
        return found

    def _finished(self, tested: Tested, scheduler: Scheduler) -> None:
        number = tested.pick.number // BATCH
        if number in self._batches:
            self._batches[number][tested.pick.number] = tested
        mutant = tested.mutant
        arrived = None
        if mutant is None:
            self.tallies.inapplicable += 1
        else:
            if tested.verdict is not None and tested.verdict.outcome is Outcome.MISMATCH:
                arrived = self._arrive(mutant, tested.verdict)
            self.tallies.add(
                tested.outcome,
                characteristics=mutant.characteristics,
                mutators=mutant.mutators,
                valid=mutant.valid,
                seconds=tested.seconds,
                new_bucket=arrived is not None and arrived.first,
                at=self._elapsed(),
            )
        self.tallies.elapsed = self._elapsed()
        self._count()
        self.on_test(tested)

    def _arrive(self, mutant: Mutant, verdict: Verdict) -> Arrived:
        code = next((self.codes[c] for c in mutant.characteristics if c in self.codes), "")
        named = replace(verdict, torch=str(self._environment.get("torch", "")), machine=self._machine(verdict), file=mutant.program.name)
        arrived = arrive(self.store, mutant, named, code=code, campaign=self.id, reduce=self.settings.reduce)
        if arrived.row.bucket is not None:
            self.buckets.setdefault(arrived.row.bucket, self._elapsed())
        self.on_finding(arrived)
        return arrived

    def _machine(self, verdict: Verdict) -> dict[str, JSON]:
        names = ("cpu", "capability", "cpu_capability", "compiler", "python")
        return {**{k: self._environment[k] for k in names if k in self._environment}, "threads": verdict.configuration.threads}

    def _count(self) -> None:
        """Keep the counters in the store, about once a second."""
        if self._elapsed() - self._counted > 1.0:
            self._counted = self._elapsed()
            self.store.update_campaign(self.id, self.tallies.to_json(self.codes))


class _Tester:
    """What a worker thread does with a pick: make the mutant, judge it. Shared by all threads."""

    def __init__(self, pool: Pool) -> None:
        self._watched = Watched(pool)
        self._maker = Maker(pool)
        self._judge = Judge(self._watched, SETTING)

    def test(self, pick: Pick) -> Tested:
        started = time.monotonic()
        verdict = None
        try:
            mutant = self._maker.make(pick)
            if mutant is not None and mutant.valid:
                mutant, verdict = self._judged(mutant, pick)
        except RunnerError as error:
            mutant, verdict = None, Verdict(Outcome.UNDECIDED, error.message)
        return Tested(pick, mutant, verdict, self._watched.taken(), time.monotonic() - started)

    def _judged(self, mutant: Mutant, pick: Pick) -> tuple[Mutant, Verdict]:
        """The verdict; of a mismatch that the first mutator alone shows too, the plainer mutant is kept: two bugs in one program hide each other."""
        verdict = self._verdict(mutant, pick)
        if verdict.outcome is Outcome.MISMATCH and mutant.plainer is not None and mutant.plainer.valid:
            plain = self._verdict(mutant.plainer, pick)
            if plain.outcome is Outcome.MISMATCH:
                return mutant.plainer, plain
        return mutant, verdict

    def _verdict(self, mutant: Mutant, pick: Pick) -> Verdict:
        if pick.mutator is not None and not pick.mutator.compiles and not pick.extra and Draw(pick.number, "cheap").chance(CHEAP_SHARE):
            cheap = replace(mutant.program, configuration=mutant.program.configuration.with_(backend=CHEAP))
            return self._judge.check(cheap)
        return self._judge.check(mutant.program)
