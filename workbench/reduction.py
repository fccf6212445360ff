"""Reduces programs with the real oracle: implements ``reducers``' protocols over the judge and the store, certifies and writes the result."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reducers.oracle import AGREES, Candidate, Journal, Judgement, Kind, MemoryJournal
from reducers.reduction import Reduction, Unreproducible, reduce
from reducers.scripts import as_harness
from reducers.search import Budget, Progress
from reducers.tree import statements
from store.records import JSON, LADDER, Configuration, Outcome, Program, Signature, Stage, Symptom, Verdict, canonical
from workbench.errors import WorkbenchError
from workbench.flattening import flat_texts, outcomes
from workbench.oracle.judge import Demand, Judge
from workbench.oracle.runs import Runner, Runs, Setting, UndecidedError
from workbench.programs import write_block
from workbench.remark import remark
from workbench.sameness import Bug, bug_of, fingerprint, judged, raises_alike
from workbench.signature import signature

CALLED = "program.py"
"""What tracebacks call a candidate: never a real path, whose file holds another text."""
FLAKY = "compiled is not reproducible"
VOTES = 5
"""Judgements of one candidate of a flaky program at most."""
LEAST_SECONDS = 20.0
"""A loaded machine is no timeout."""
STRANGERS = 3
"""Other bugs met on the way that one reduction reports; a seed full of bugs must not flood the store."""


class NotAFindingError(WorkbenchError):
    """There is nothing to reduce: the program agrees, is noise, or cannot run."""


@dataclass(frozen=True, slots=True)
class Stranger:
    """A candidate that failed in another way: a finding of its own."""

    program: Program
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Reduced:
    """A reduction's result.

    program:   harness form, its block with non-default keys only, one comment that says what differs
    ended:     ``complete``, or ``budget`` / ``interrupted``: the best so far; ``unconfirmed``: the final look did not show the bug again
    certified: (n, m): n of m cold runs showed the same bug; (0, 0) when it was not asked for
    strangers: what failed differently on the way
    votes:     (n, m): in a flaky program, how many of how many judgements had to say ``same``
    """

    program: Program
    before: Verdict
    after: Verdict
    signature: Signature
    progress: Progress
    ended: str
    certified: tuple[int, int] = (0, 0)
    strangers: tuple[Stranger, ...] = ()
    votes: tuple[int, int] = (1, 1)

    def statistics(self) -> dict[str, JSON]:
        """What the store keeps and screens show."""
        return {**self.progress.to_json(), "ended": self.ended, "certified": list(self.certified), "votes": list(self.votes)}


class BugOracle:
    """``reducers.oracle.Oracle`` over the judge: same bug or not, on the cheapest backend that shows it."""

    def __init__(self, judge: Judge, pool: Runner, bug: Bug, backend: str, setting: Setting, *, steady: bool = True) -> None:
        self._judge = judge
        self._pool = pool
        self._bug = bug
        self._backend = backend
        self._setting = setting
        self._lock = threading.Lock()
        self._ran: set[str] = set()
        self.steady = steady
        self.flattens = bug.stage is not Stage.DYNAMO

    def judge(self, candidate: Candidate, cancelled: Callable[[], bool], *, survey: bool = False) -> Judgement:
        """The verdict without confirmation: what is accepted in the end is confirmed and certified. The guilty pass, where it is known, has to
        hide what a candidate shows.
        """
        if cancelled():
            return Judgement(Kind.UNDECIDED, reason="no longer wanted")
        refused = None if candidate.key in self._ran else self._screened(candidate)
        if refused is not None:
            return refused
        verdict = self.verdict(candidate, survey=survey)
        kind, paths = judged(self._bug, verdict)
        return Judgement(kind, fingerprint(verdict), paths, verdict.compiles, verdict.seconds, verdict.reason)

    def _screened(self, candidate: Candidate) -> Judgement | None:
        """A refusal without a compile where eager does not behave as in the original: returns where that raised, or raises where it returned."""
        runs = Runs(self._pool, Program(candidate.source, candidate.configuration, CALLED), self._setting)
        started = time.monotonic()
        try:
            eager = runs.eager()
        except UndecidedError:
            return None  # the judge words it
        raises = self._bug.change.symptom is Symptom.MISSING_ERROR
        if eager.outcome == ("raised" if raises else "returned"):
            return None
        told = eager.exception.message.splitlines()[0] if eager.exception is not None and eager.exception.message else ""
        return Judgement(Kind.INVALID, seconds=time.monotonic() - started, reason=f"eager {eager.outcome} {told}"[:200].strip())

    def screen(self, candidates: Sequence[Candidate]) -> Sequence[str]:
        """One child that runs all of them in eager, and compiled where that needs no C++; where it gives no answer, nothing is refused."""
        by_configuration: dict[str, list[int]] = {}
        for i, candidate in enumerate(candidates):
            by_configuration.setdefault(canonical(candidate.configuration.to_json()), []).append(i)
        reasons = [""] * len(candidates)
        for places in by_configuration.values():
            for i, reason in zip(places, self._asked_of_eager([candidates[i] for i in places]), strict=True):
                reasons[i] = reason
        with self._lock:
            self._ran |= {c.key for c, reason in zip(candidates, reasons, strict=True) if not reason}
        return reasons

    def _asked_of_eager(self, candidates: Sequence[Candidate]) -> list[str]:
        raises = self._bug.change.symptom is Symptom.MISSING_ERROR
        cheap = self._backend if self._backend != LADDER[Stage.INDUCTOR] and self.steady else None
        found = outcomes(self._pool, candidates[0].configuration, [c.source for c in candidates], self._setting, backend=cheap)
        if found is None:
            return [""] * len(candidates)
        told = []
        for outcome, reason in found:
            alike = outcome == "raised" and raises_alike(self._bug, reason) if raises else outcome == "returned"
            told.append(AGREES if outcome == "agrees" else "" if alike else f"eager {outcome} {reason}".strip())
        return told

    def verdict(self, candidate: Candidate, *, survey: bool = False) -> Verdict:
        """The judge's verdict of a candidate on this oracle's backend."""
        program = Program(candidate.source, candidate.configuration.with_(backend=self._backend), CALLED)
        demand = Demand(stage=not survey, confirm=False, blame="" if survey else self._bug.guilty)
        verdict = self._judge.check(program, demand=demand, setting=self._setting)
        return replace(verdict, stage=self._bug.stage) if survey else verdict

    def flatten(self, candidate: Candidate) -> Sequence[str]:
        """Straight-line texts of the program's graphs."""
        return flat_texts(self._pool, Program(candidate.source, candidate.configuration, CALLED), self._setting)

    def slices(self, candidate: Candidate) -> Sequence[str]:
        """Windows of the program's graph over recorded values."""
        return flat_texts(self._pool, Program(candidate.source, candidate.configuration, CALLED), self._setting, windows=True)


@dataclass(frozen=True, slots=True)
class Reducer:
    """Reduces one program after the other on one pool.

    certify: asks for cold runs of a final program: (n, m)
    """

    pool: Runner
    setting: Setting = field(default_factory=Setting)
    workers: int = 1
    budget: Budget = field(default_factory=Budget)
    certify: Callable[[Program, Bug], tuple[int, int]] | None = None
    stopped: Callable[[], bool] = lambda: False

    def run(
        self,
        program: Program,
        *,
        journal: Journal | None = None,
        watch: Callable[[Progress], None] = lambda progress: None,
        known: Verdict | None = None,
    ) -> Reduced:
        """The smallest program with the same bug as ``program``. NotAFindingError when there is none to be seen.

        known: the verdict that made it a finding; its bug is followed where it still shows
        """
        judge = Judge(self.pool, self.setting)
        before, votes = _seen(judge, program)
        bug = bug_of(before)
        was = bug_of(known) if known is not None else None
        if was is not None and judged(was, before)[0] is Kind.SAME:
            bug = was  # with the guilty pass that only a ladder tells
        if bug is None:
            raise NotAFindingError(f"{program.name}: nothing to reduce: {before.outcome.value} ({before.reason})", _advice(before))
        backend = LADDER[bug.stage] if bug.stage is not None else program.configuration.backend
        oracle = BugOracle(judge, self.pool, bug, backend, patient(self.setting, before.seconds), steady=votes == (1, 1))
        strange: dict[str, Candidate] = {}

        def stranger(candidate: Candidate, judgement: Judgement) -> None:
            strange.setdefault(judgement.fingerprint, candidate)

        start, asked = _start(program, before, oracle)
        try:
            done = reduce(
                start,
                oracle,
                journal or MemoryJournal(),
                workers=self.workers,
                votes=votes,
                budget=self.budget,
                watch=watch,
                stopped=self.stopped,
                stranger=stranger,
                first=_first(bug, before) if backend == program.configuration.backend and not asked and not bug.guilty else None,
            )
            done = replace(done, progress=replace(done.progress, calls=done.progress.calls + asked))
        except Unreproducible as error:
            raise NotAFindingError(f"{program.name}: {backend} alone does not show it: {error}", "run workbench check on it") from error
        return replace(self._finished(program, judge, oracle, before, bug, done, strange), votes=votes)

    def _finished(
        self,
        program: Program,
        judge: Judge,
        oracle: BugOracle,
        before: Verdict,
        bug: Bug,
        done: Reduction,
        strange: Mapping[str, Candidate],
    ) -> Reduced:
        progress = replace(done.progress, calls=done.progress.calls + 2, compiles=done.progress.compiles + before.compiles)
        final, after, shows = self._final(program, judge, oracle, bug, done)
        ended = done.ended if shows else "unconfirmed"
        progress = replace(progress, compiles=progress.compiles + after.compiles)
        certified = (0, 0)
        if self.certify is not None and ended in ("complete", "budget"):
            certified = self.certify(final, bug)
            progress = replace(progress, calls=progress.calls + certified[1], compiles=progress.compiles + certified[1])
        told = signature(after, final.source, final=ended == "complete")
        strangers = self._strangers(judge, strange) if ended in ("complete", "budget") else ()
        return Reduced(final, before, after, told, progress, ended, certified, strangers)

    def _final(self, program: Program, judge: Judge, oracle: BugOracle, bug: Bug, done: Reduction) -> tuple[Program, Verdict, bool]:
        """The result under the configured backend where it still shows there, else under the stage's; and whether it shows there."""
        best = done.candidate
        shows = False
        for backend in dict.fromkeys((program.configuration.backend, oracle._backend)):
            configuration = best.configuration.with_(backend=backend)
            demand = Demand(threads=True, confirm=oracle.steady, blame=bug.guilty)
            verdict = judge.check(Program(best.source, configuration, CALLED), demand=demand)
            shows = judged(bug, verdict)[0] is Kind.SAME
            if shows:
                break
        source = write_block(f"{remark(verdict, bug)}\n{best.source}", configuration)
        return Program(source, configuration, program.name), verdict, shows

    def _strangers(self, judge: Judge, strange: Mapping[str, Candidate]) -> tuple[Stranger, ...]:
        found = []
        for candidate in list(strange.values())[:STRANGERS]:
            program = Program(write_block(candidate.source, candidate.configuration), candidate.configuration, CALLED)
            verdict = judge.check(program, setting=self.setting)
            if bug_of(verdict) is not None:
                found.append(Stranger(program, verdict))
        return tuple(found)


def _start(program: Program, before: Verdict, oracle: BugOracle) -> tuple[Candidate, int]:
    """Where a reduction starts, and how many candidates were judged to find that out: a script goes on in harness form where that shows the
    same bug, its first differing call as the script compiles it.
    """
    plain = write_block(program.source, Configuration())
    if not before.calls:
        return Candidate(plain, program.configuration), 0
    call = next((c for c in before.calls if bug_of(c) is not None), before)
    configuration = call.configuration.with_(backend=program.configuration.backend)
    whole = Candidate(plain, program.configuration)
    texts = [*as_harness(plain), *(oracle.flatten(whole) if oracle.flattens else ())]
    for asked, text in enumerate(texts, 1):
        candidate = Candidate(text, configuration)
        if oracle.judge(candidate, lambda: False).kind is Kind.SAME:
            return candidate, asked
    return whole, len(texts)


def _seen(judge: Judge, program: Program) -> tuple[Verdict, tuple[int, int]]:
    """The verdict that a reduction starts from, and the votes that its candidates need: where the bug comes and goes, the program is judged
    some times over, without asking that one verdict shows it twice.
    """
    verdict = judge.check(program, demand=Demand())
    if verdict.outcome is not Outcome.UNDECIDED or FLAKY not in verdict.reason:
        return verdict, (1, 1)
    seen = [judge.check(program, demand=Demand(confirm=False)) for _ in range(VOTES)]
    shown = [v for v in seen if bug_of(v) is not None]
    compiles = verdict.compiles + sum(v.compiles for v in seen)
    if not shown:
        return replace(verdict, compiles=compiles), (1, 1)
    return replace(shown[0], compiles=compiles), (2 if 2 * len(shown) > VOTES else 1, VOTES)


def patient(setting: Setting, seconds: float) -> Setting:
    """How long one run of a candidate may take: ten times what all runs of the whole program took, never more than was allowed that."""
    limit = min(setting.limits.seconds, max(LEAST_SECONDS, 10 * seconds))
    return replace(setting, limits=replace(setting.limits, seconds=limit))


def _first(bug: Bug, before: Verdict) -> Judgement:
    """What the verdict of the whole program already says of the first candidate."""
    kind, paths = judged(bug, before)
    return Judgement(kind, fingerprint(before), paths)


def _advice(verdict: Verdict) -> str:
    if verdict.outcome.value == "invalid":
        return "a program must run in eager; see workbench check"
    return "a finding is a mismatch or an error; see workbench check"


def summary(reduced: Reduced, finding: int | str) -> dict[str, JSON]:
    """One entry of ``minimize --json`` (DESIGN §13)."""
    return {
        "finding": finding,
        "verdict_before": reduced.before.outcome.value,
        "verdict_after": reduced.after.outcome.value,
        "source": reduced.program.source,
        "config": reduced.program.configuration.to_json(),
        "oracle_calls": reduced.progress.calls,
        "compiles": reduced.progress.compiles,
        "seconds": round(reduced.progress.seconds, 2),
        "statements_before": reduced.progress.statements_before,
        "statements_after": statements(reduced.program.source),
        "signature": reduced.signature.text(),
        "ended": reduced.ended,
        "certified": list(reduced.certified),
        "votes": list(reduced.votes),
        "strangers": len(reduced.strangers),
    }


def progress_of(candidate: Candidate, counted: Mapping[str, JSON]) -> dict[str, JSON]:
    """What ``store.save_progress`` keeps after each accepted step."""
    return {**counted, "source": candidate.source, "config": candidate.configuration.to_json()}
