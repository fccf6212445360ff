"""One `workbench fuzz`: plans tests, has them judged on all servers, keeps what mismatches, counts the rest.

The calling thread is the only one that writes findings; a test that has come back is in the store before the next is handed out.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from store.records import JSON, LADDER, Outcome, Stage, Verdict
from store.store import Store
from workbench.errors import RunnerError
from workbench.fuzz.arrival import Arrived, arrive
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import Maker, Mutant, Pick
from workbench.fuzz.mutators import Mutator
from workbench.fuzz.scheduler import BATCH, Scheduler
from workbench.fuzz.source import Earnings, Share, Source
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
    """What a campaign was asked for. Exactly one of ``tests`` and ``seconds`` ends it; with neither it runs until it is stopped.

    Strategy ``unmutated`` ends by itself when every seed was judged.
    """

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
    source: mutants from elsewhere than the rules, which get their share of the tests
    reducing: how many reductions are under way; as tests end, each gets a server to itself and tests what is left, at least one. Asking for
              every run in one line with the tests, reductions take four times as long and the queue of findings only grows
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
    source: Source | None = None
    reducing: Callable[[], int] = lambda: 0
    tallies: Tallies = field(default_factory=Tallies)
    buckets: dict[int, float] = field(default_factory=dict)
    id: int = 0
    stopped: bool = False
    _environment: Mapping[str, JSON] = field(default_factory=dict)
    _started: float = 0.0
    _earnings: Earnings = field(default_factory=Earnings)
    _of_source: Earnings = field(default_factory=Earnings)
    _share: Share = field(default_factory=Share)
    _handed: int = 0
    _queued: Counter[str] = field(default_factory=Counter)
    _batches: dict[int, dict[int, Tested]] = field(default_factory=dict)
    _counted: float = 0.0
    _looked: float = 0.0

    def run(self) -> None:
        """Run to the end. KeyboardInterrupt goes through after what is finished is kept and the campaign closed as interrupted."""
        described: Mapping[str, JSON] = self.source.described() if self.source is not None else {}
        self.id = self.store.start_campaign(
            {**self.settings.to_json(), "seeds": len(self.seeds), "mutators": [m.name for m in self.mutators], **described}
        )
        state = "interrupted"
        self._environment = self.pool.environment()
        self._started = time.monotonic()
        try:
            if self.source is not None:
                self.source.start(self.id)
            self._loop()
            state = "interrupted" if self.stopped else "finished"
        finally:
            if self.source is not None:
                self.source.stop()
            self.tallies.elapsed = self._elapsed()
            self.store.finish_campaign(self.id, self.tallies.to_json(self.codes), state=state)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _loop(self) -> None:
        scheduler = Scheduler(self.settings.seed, self.mutators, self.seeds, self.settings.strategy)
        waiting: set[Future[Tested]] = set()
        picks = iter(()) if self.settings.strategy == "llm" else self._picks(scheduler)
        test = self.tester or _Tester(self.pool).test
        workers = ThreadPoolExecutor(self.settings.jobs, thread_name_prefix="test")
        try:
            exhausted = False
            while True:
                while len(waiting) < self._room() and not self._is_enough():
                    offered = self._offered(rules=not exhausted)
                    pick = offered if offered is not None or exhausted else next(picks, None)
                    if pick is None:
                        exhausted = True
                        break
                    if pick == "wait":
                        break
                    assert isinstance(pick, Pick)
                    self._handed += 1
                    self._share.planned(source=pick.made is not None)
                    waiting.add(workers.submit(test, pick))
                if not waiting:
                    if self._is_enough() or not exhausted or self.source is None or self.source.is_over():
                        return
                    self.source.wait(0.5)
                    self._look()
                    continue
                done, waiting = wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED)
                self._look()
                for future in done:
                    self._finished(future.result(), scheduler)
                if self._time_is_up():
                    waiting = {f for f in waiting if not f.cancel()}
        finally:
            workers.shutdown(wait=False, cancel_futures=True)

    def _room(self) -> int:
        """How many tests may be handed out and not be finished; one ahead for the workers unless a reduction is under way."""
        reducing = self.reducing()
        return max(1, self.settings.jobs - reducing) if reducing else self.settings.jobs + 1

    def _is_enough(self) -> bool:
        """No further test is to be handed out."""
        return self._time_is_up() or (self.settings.tests is not None and self._handed >= self.settings.tests)

    def _offered(self, *, rules: bool) -> Pick | None:
        """The source's next mutant as a pick, when it is its turn and one is ready."""
        if self.source is None or (rules and not self._share.is_due()):
            return None
        offer = self.source.take()
        if offer is None:
            return None
        return Pick(-1 - offer.number, Draw(self.settings.seed, "source", offer.number), None, (), made=offer.mutant)

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
                if pick.number >= self._most():
                    return
                yield pick
            batch += 1

    def _most(self) -> float:
        """Picks that there are: a seed that nothing was done to says the same every time."""
        each_once = len(self.seeds) if self.settings.strategy == "unmutated" else math.inf
        return min(each_once, math.inf if self.settings.tests is None else self.settings.tests)

    def _batch_is_done(self, batch: int) -> bool:
        return len(self._batches[batch]) == BATCH

    def _rewards(self, results: Mapping[int, Tested]) -> list[tuple[Sequence[str], str, float]]:
        """In the order of test numbers, so that what counts as new does not depend on which test was quicker."""
        found: list[tuple[Sequence[str], str, float]] = []
        for _, tested in sorted(results.items()):
            mutant = tested.mutant
            if mutant is not None and mutant.mutators:
                found.append((mutant.mutators, mutant.seed, _earned(tested, self._earnings)))
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
        if self.source is not None:
            self._tell(tested, self.source, arrived)
        self.tallies.elapsed = self._elapsed()
        self._count()
        self.on_test(tested)

    def _tell(self, tested: Tested, source: Source, arrived: Arrived | None) -> None:
        made = tested.pick.made is not None
        self._share.learn(lambda earnings: _earned(tested, earnings), source=made)
        if made:
            finding = arrived.row.id if arrived else None
            source.told(-1 - tested.pick.number, tested.verdict, _earned(tested, self._of_source), finding)

    def _arrive(self, mutant: Mutant, verdict: Verdict) -> Arrived:
        code = next((self.codes[c] for c in mutant.characteristics if c in self.codes), "")
        named = replace(verdict, torch=str(self._environment.get("torch", "")), machine=self._machine(verdict), file=mutant.program.name)
        first = next((m.name for m in self.mutators if m.name in mutant.mutators[:1]), None)
        tried = self._queued[first] if first is not None else 0
        arrived = arrive(self.store, mutant, named, code=code, campaign=self.id, reduce=self.settings.reduce, tried=tried)
        if first is not None:
            self._queued[first] += arrived.first
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


def _earned(tested: Tested, earnings: Earnings) -> float:
    return earnings.of(tested.mutant, tested.verdict, tested.outcome, tested.behaviour)


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
