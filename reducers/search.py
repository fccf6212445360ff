"""The search: proposes candidates in a fixed order, asks the oracle with as many workers as there are, accepts the earliest success. The
result is the same for any number of workers and after any interruption, because a rejected guess never changes what is tried next.
"""

from __future__ import annotations

import ast
import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Self

from reducers.chunks import Cursor, schedule
from reducers.names import undefined
from reducers.oracle import AGREES, UNSTABLE, Candidate, Journal, Judgement, Kind, Oracle
from reducers.tree import Edit, apply, canonical, show, statements
from store.records import JSON, Configuration
from store.syntax import parse

FIRST_LOOK, LAST_LOOK = 6, 24
"""Candidates that eager is asked about at once: few where the first may be accepted, more the longer nothing is."""

SHORT_OF = 3
"""Calls in which what packs showed can still be judged alone."""


class OutOfBudget(Exception):
    """Calls or seconds are spent; the best program so far stands."""


class Stopped(Exception):
    """Somebody asked for the end; the best program so far stands."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a reduction may cost; None is no limit."""

    calls: int | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Progress:
    """How far a reduction is; a copy goes to the watcher after each judgement.

    calls:    questions to the oracle: candidates judged, speculation included, packs with the look at eager that opens them, captures, and
              other lists screened in eager; recalled ones cost nothing and are not counted
    screened: candidates that were refused in such a list
    recalled: judgements that the journal knew
    skipped:  candidates that the static filter refused
    """

    current: str = "qualify"
    statements_before: int = 0
    statements: int = 0
    bytes_before: int = 0
    bytes: int = 0
    calls: int = 0
    compiles: int = 0
    screened: int = 0
    recalled: int = 0
    skipped: int = 0
    accepted: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Pass:
    """One way to make a program smaller: a list of edits of which any subset may be tried.

    edits: from the tree to its edits, most promising last (the schedule starts at the end)
    first: how many to try together at first; None: half of them
    last:  smallest number to try together; above one where another pass tries single edits
    tidy:  remove what the edit leaves unused in the same candidate
    """

    name: str
    edits: Callable[[ast.Module], list[Edit]]
    first: int | None = None
    tidy: bool = True
    last: int = 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate, and where its pass goes on if it is accepted.

    toll: questions asked on the way to it, charged when its turn comes
    """

    candidate: Candidate
    then: Cursor | None = None
    toll: int = 0


@dataclass
class Search:
    """Keeps the best candidate and everything that is asked about others.

    workers:  candidates judged at once
    votes:    (n, m): a candidate is the same bug when n of m judgements say so (flaky bugs); no more are asked than it takes to know
    stranger: called with what fails differently
    tidy:     from a tree to the same tree without what nothing uses
    """

    oracle: Oracle
    journal: Journal
    best: Candidate
    workers: int = 1
    votes: tuple[int, int] = (1, 1)
    budget: Budget = field(default_factory=Budget)
    watch: Callable[[Progress], None] = lambda progress: None
    stranger: Callable[[Candidate, Judgement], None] = lambda candidate, judgement: None
    tidy: Callable[[ast.Module], ast.Module] = lambda tree: tree
    stopped: Callable[[], bool] = lambda: False
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.best = replace(self.best, source=canonical(self.best.source))
        self.progress.statements_before = self.progress.statements = statements(self.best.source)
        self.progress.bytes_before = self.progress.bytes = len(self.best.source)
        self.baseline = undefined(parse(self.best.source))
        self.started = time.monotonic()
        self.known: dict[str, Judgement] = {}
        self.settled: dict[str, Judgement] = {}
        self.consumed = 0
        self.tidying = True
        self.packing = True
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(self.workers, "reduce") if self.workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=True, cancel_futures=True)

    # What passes call

    def run(self, pass_: Pass, *, raw: bool = False) -> bool:
        """Apply a pass until none of its edits is accepted alone; True when the program changed. ``raw``: never tidy candidates."""
        self.progress.current = pass_.name
        changed = False
        cursor: Cursor | None = None
        while (accepted := self.first(self._proposals(pass_, cursor, raw=raw))) is not None:
            changed, cursor = True, accepted.then
        return changed

    def offer(self, name: str, *sources: str, configuration: Configuration | None = None) -> bool:
        """Try whole texts in order; True when one was accepted."""
        self.progress.current = name
        chosen = configuration or self.best.configuration
        made = (self.candidate(source, chosen) for source in sources)
        return self.first(Proposal(c) for c in made if c is not None) is not None

    def configure(self, name: str, *configurations: Configuration) -> bool:
        """Try the best program under other configurations, in order."""
        self.progress.current = name
        return self.first(Proposal(replace(self.best, configuration=c)) for c in configurations if c != self.best.configuration) is not None

    def candidate(self, source: str, configuration: Configuration) -> Candidate | None:
        """A candidate that passes the static filter and is not the best one already, else None."""
        try:
            tree = parse(source)
        except SyntaxError:
            tree = None
        if tree is None or undefined(tree) - self.baseline:
            self.progress.skipped += 1
            return None
        made = Candidate(show(tree), configuration)
        return None if made == self.best else made

    # The machinery

    def _proposals(self, pass_: Pass, cursor: Cursor | None, *, raw: bool) -> Iterator[Proposal]:
        tree = parse(self.best.source)
        edits = pass_.edits(tree)
        tidying = pass_.tidy and self.tidying and not raw
        for run in schedule(len(edits), cursor, first=pass_.first, last=pass_.last):
            changed = apply(tree, edits[run.start : run.end])
            if changed is None:
                self.progress.skipped += 1
                continue
            made = self.candidate(show(self.tidy(changed) if tidying else changed), self.best.configuration)
            if made is not None:
                yield Proposal(made, run.then)

    def try_tidying(self) -> None:
        """Drop what looks unused; where the bug vanishes with it (a dead random draw, say), candidates are not tidied either for now."""
        source = show(self.tidy(parse(self.best.source)))
        self.tidying = source == self.best.source or self.offer("tidy", source)

    def first(self, proposals: Iterator[Proposal]) -> Proposal | None:
        """Accept the earliest proposal that is the same bug; None when there is none. Later ones in flight are told to stop."""
        window: deque[tuple[Proposal, _Asked]] = deque()
        source = self._sifted(proposals)
        try:
            while True:
                while len(window) < self.workers:
                    proposal = next(source, None)
                    if proposal is None:
                        break
                    window.append((proposal, self._ask(proposal.candidate)))
                if not window:
                    return None
                proposal, asked = window.popleft()
                self.consumed += proposal.toll
                if self._settle(proposal.candidate, asked) is Kind.SAME:
                    self._accept(proposal.candidate)
                    return proposal
        finally:
            for _, asked in window:
                asked.cancelled = True
                if asked.future is not None:
                    asked.future.cancel()

    def _sifted(self, proposals: Iterator[Proposal]) -> Iterator[Proposal]:
        """The proposals that a first look lets through: looked at in growing groups, each group in one question."""
        size, toll = FIRST_LOOK, 0
        while group := list(islice(proposals, size)):
            toll += self.screen([p.candidate for p in group], charge=False)
            for proposal in group:
                known = self.settled.get(proposal.candidate.key)
                if known is None or known.kind is Kind.SAME:
                    yield replace(proposal, toll=toll)
                    toll = 0
            size = min(2 * size, LAST_LOOK)

    def screen(self, candidates: Sequence[Candidate], *, charge: bool = True, count: bool = True) -> int:
        """Ask eager of those of which nothing is known, and remember those that it refuses. How many questions that took: one or none.

        charge: against the budget, now
        count:  as a question; not where it opens another, as the look at eager opens every judgement
        """
        unknown = list({c.key: c for c in candidates if c.key not in self.settled}.values())
        if len(unknown) < 2:
            return 0
        key = "screen:" + hashlib.sha256("".join(c.key for c in unknown).encode()).hexdigest()
        reasons = self.journal.recall_texts(key)
        asked = reasons is None
        if reasons is None:
            if charge:
                self._spend()
            reasons = self.oracle.screen(unknown)
            self.journal.record_texts(key, reasons)
        with self.lock:
            self.progress.calls += asked and count
            for candidate, reason in zip(unknown, reasons, strict=True):
                if reason:
                    self.progress.screened += asked
                    self.settle(candidate, Judgement(Kind.AGREE if reason == AGREES else Kind.INVALID, reason=reason))
        return int(asked)

    def _ask(self, candidate: Candidate) -> _Asked:
        asked = _Asked()
        known = self.recall(candidate)
        if known is not None:
            asked.known = known
        elif self.pool is not None:
            asked.future = self.pool.submit(self._judge, candidate, asked)
        return asked

    def _settle(self, candidate: Candidate, asked: _Asked) -> Kind:
        if asked.known is not None:
            self.progress.recalled += 1
            return self.settle(candidate, asked.known).kind
        self._spend()
        judgement = self.settle(candidate, asked.future.result() if asked.future is not None else self._judge(candidate, asked))
        if judgement.kind is Kind.DIFFERENT:
            self.stranger(candidate, judgement)
        return judgement.kind

    def settle(self, candidate: Candidate, judgement: Judgement) -> Judgement:
        """What this search has learnt of a candidate, in its own order: what a journal or a worker knows besides must not change its course."""
        self.settled[candidate.key] = judgement
        return judgement

    def recall(self, candidate: Candidate, *, survey: bool = False) -> Judgement | None:
        """What is known of a candidate without asking."""
        key = _key(candidate, survey=survey)
        known = self.known.get(key) or self.journal.recall(key)
        if known is not None:
            self.known[key] = known
        return known

    def judge(self, candidate: Candidate, *, survey: bool = False) -> Judgement:
        """The judgement of one candidate, recalled or asked; counted, never accepted. ``survey``: as in ``Oracle.judge``."""
        known = self.recall(candidate, survey=survey)
        if known is not None:
            self.progress.recalled += 1
        else:
            self._spend()
            known = self._judge(candidate, _Asked(survey=survey))
        return known if survey else self.settle(candidate, known)

    def _judge(self, candidate: Candidate, asked: _Asked) -> Judgement:
        needed, most = self.votes
        made: list[Judgement] = []
        same: list[Judgement] = []
        while len(same) < needed and needed - len(same) <= most - len(made) and not (made and asked.cancelled):
            made.append(self.oracle.judge(candidate, lambda: asked.cancelled, survey=asked.survey))
            if made[-1].kind is Kind.SAME:
                same.append(made[-1])
            elif made[-1].kind is Kind.INVALID:
                break  # eager is not what is flaky
        others = [j for j in made if j.kind is not Kind.SAME]
        told = same[-1] if len(same) >= needed or not others else others[-1]
        compiles, seconds = sum(j.compiles for j in made), sum(j.seconds for j in made)
        judgement = replace(told, compiles=compiles, seconds=seconds)
        with self.lock:
            self.progress.calls += len(made)
            self.progress.compiles += compiles
            if asked.cancelled:
                return judgement
            key = _key(candidate, survey=asked.survey)
            self.known[key] = judgement
            if judgement.kind not in UNSTABLE:
                self.journal.record(key, judgement)
            self._report()
        return judgement

    def charge(self) -> None:
        """Something else than a judgement that costs about one: a capture."""
        self._spend()
        with self.lock:
            self.progress.calls += 1

    def _spend(self) -> None:
        """One judgement in candidate order; speculation is not charged, so that a budget means the same for any number of workers."""
        if self.stopped():
            raise Stopped
        if self.budget.calls is not None and self.consumed >= self.budget.calls:
            raise OutOfBudget
        if self.budget.seconds is not None and time.monotonic() - self.started >= self.budget.seconds:
            raise OutOfBudget
        self.consumed += 1

    def is_short(self) -> bool:
        """Whether the budget is nearly spent: three more calls, or a tenth of its seconds."""
        calls, seconds = self.budget.calls, self.budget.seconds
        left = None if seconds is None else seconds - (time.monotonic() - self.started)
        return (calls is not None and calls - self.consumed <= SHORT_OF) or (left is not None and seconds is not None and left < seconds / 10)

    def _accept(self, candidate: Candidate) -> None:
        self.best = candidate
        self.progress.accepted += 1
        self.progress.statements = statements(candidate.source)
        self.progress.bytes = len(candidate.source)
        self._report()
        self.journal.accepted(candidate, self.progress.to_json())

    def _report(self) -> None:
        self.progress.seconds = round(time.monotonic() - self.started, 3)
        self.watch(replace(self.progress))


def _key(candidate: Candidate, *, survey: bool) -> str:
    """A survey is no judgement: the two are remembered apart."""
    return f"survey:{candidate.key}" if survey else candidate.key


@dataclass(slots=True)
class _Asked:
    """A judgement on its way: known already, running in a worker, or to be made when it is wanted."""

    known: Judgement | None = None
    future: Future[Judgement] | None = None
    cancelled: bool = False
    survey: bool = False
