"""A whole reduction: program, inputs and configuration shrink in turn until none changes. Starts nothing, stores nothing itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from reducers import expressions, inline, inputs, objects, statements
from reducers.configurations import towards_default
from reducers.deadcode import tidy
from reducers.graph import flattened, window
from reducers.normal import laid_out, normalised
from reducers.oracle import Candidate, Journal, Judgement, Kind, Oracle
from reducers.packs import OWNED, packable
from reducers.pinned import pinned
from reducers.rounds import closed, members_of, showing, size
from reducers.search import Budget, OutOfBudget, Pass, Progress, Search, Stopped
from reducers.straight import clean, straightened
from reducers.tree import show
from store.syntax import parse

PASSES = (
    Pass("statements", statements.deletions),
    Pass("elements", statements.elements),
    Pass("bypass", expressions.bypasses, last=2),
    Pass("unwrap", statements.unwraps, first=1),
    Pass("ternary", statements.ternaries),
    Pass("splice", inline.spliced),
    Pass("helpers", inline.helpers),
    Pass("unpack", inline.unpacked),
    Pass("inline", inline.names),
    Pass("return inside", inline.returned_inside),
    Pass("instances", objects.instances, first=1),
    Pass("methods", objects.methods),
    Pass("constructors", objects.constructors),
    Pass("harness", inline.harness),
    Pass("hoist", expressions.hoists, first=1),
    Pass("arguments", expressions.arguments),
    Pass("unread inputs", inputs.unread),
    Pass("unassign", statements.unassigned, tidy=False),
    Pass("merge inputs", inputs.merges, first=1),
    Pass("fills", inputs.fills, first=1),
    Pass("sizes at once", inputs.boldest, first=1),
    Pass("sizes", inputs.sizes, first=1),
    Pass("columns", inputs.columns),
    Pass("values", inputs.values, first=1),
    Pass("constants", expressions.constants, first=1),
)
"""Every way to shrink a program, in the order in which they pay; the loop ends when a whole round accepts nothing."""


MOST_RESULTS = 12
"""Results that are looked at each alone where none of them is what differs."""
MOST_ALONE = 4
"""Of these, how many are judged one after the other."""
MOST_SCREENED = 100
"""Single edits that eager is asked about at once."""


class Unreproducible(Exception):
    """The program that was handed in does not show the bug now; ``judgement`` says what it shows."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__(judgement.reason or judgement.kind.value)
        self.judgement = judgement


@dataclass(frozen=True, slots=True)
class Reduction:
    """What came out.

    ended: ``complete``: no single edit can go; ``budget`` or ``interrupted``: the best so far, which is valid too
    """

    candidate: Candidate
    progress: Progress
    ended: str


def reduce(
    candidate: Candidate,
    oracle: Oracle,
    journal: Journal,
    *,
    workers: int = 1,
    votes: tuple[int, int] = (1, 1),
    budget: Budget | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
    stranger: Callable[[Candidate, Judgement], None] = lambda candidate, judgement: None,
    stopped: Callable[[], bool] = lambda: False,
    passes: tuple[Pass, ...] = PASSES,
    first: Judgement | None = None,
) -> Reduction:
    """The smallest program, inputs and configuration found with the same bug. Deterministic for any number of workers.

    first: what is known of ``candidate`` already, so that it need not be judged again.
    Ctrl-C, or ``stopped()`` turning true, ends it early with the best so far. Raises Unreproducible when the first judgement is not ``same``.
    """
    search = Search(oracle, journal, candidate, workers, votes, budget or Budget(), watch, stranger, tidy, stopped)
    ended = "complete"
    with search:
        try:
            if first is not None:
                search.known[search.best.key] = first
            _qualify(search)
            _shrink(search, passes)
        except OutOfBudget:
            ended = "budget"
        except (KeyboardInterrupt, Stopped):
            ended = "interrupted"
    best = replace(search.best, source=laid_out(search.best.source))
    return Reduction(best, replace(search.progress), ended)


def _qualify(search: Search) -> None:
    judgement = search.judge(search.best)
    if judgement.kind is not Kind.SAME:
        raise Unreproducible(judgement)
    search.packing = any(path.startswith(OWNED) for path in judgement.differing)


def _shrink(search: Search, passes: tuple[Pass, ...]) -> None:
    flat = flattened(search)
    _slice(search)
    if flat:
        window(search)
    _straighten(search)
    _configure(search)
    _rounds(search, passes)
    if pinned(search):
        _rounds(search, passes)
    search.offer("normalise", normalised(search.best.source))


def _rounds(search: Search, passes: tuple[Pass, ...]) -> None:
    """All passes in turn until a whole round accepts nothing."""
    raw, rounds = False, 0
    while True:
        before = search.best
        search.try_tidying()
        if closed(search, passes):
            _configure(search)
            if search.best == before:
                break
            continue
        if rounds:  # little is accepted from now on: one question to eager for every single edit
            search.screen([c for _, c in members_of(search, parse(search.best.source), passes)][:MOST_SCREENED])
        for pass_ in passes:
            search.run(pass_, raw=raw)
        rounds += 1
        _configure(search)
        if search.best == before and raw:
            break
        raw = search.best == before  # a closing round without tidying: the bug may need what looks unused


def _configure(search: Search) -> None:
    while search.configure("configuration", *towards_default(search.best.configuration)):
        pass


def _straighten(search: Search) -> None:
    """From now on under short names and straightened where the bug survives that, and so every candidate is."""
    tree = parse(search.best.source)
    search.offer("straighten", *dict.fromkeys(show(make(tree)) for make in (clean, straightened, tidy)))
    if search.best.source == show(clean(parse(search.best.source))):
        search.tidy = clean


def _slice(search: Search) -> None:
    """Return only what differs, at first one such output alone: most of a filler-laden program then falls to dead code removal."""
    judgement = search.judge(search.best)
    places = [int(m[1]) for path in judgement.differing if (m := re.match(r"return\[(\d+)\]", path))]
    tree = parse(search.best.source)
    if not places:
        _alone(search, tree)
        return
    tried = []
    for kept in dict.fromkeys([*(frozenset({p}) for p in places), frozenset(places)]):
        cut = statements.returned(tree, kept)
        if cut is not None:
            tried.append(show(tidy(cut)))
    search.offer("slice", *tried)


def _alone(search: Search, tree: ast.Module) -> None:
    """Where what differs is no result (a gradient, an input), any one of the results may be all it takes: each alone, in one pack where they
    can be packed.
    """
    cuts = [cut for i in range(MOST_RESULTS) if (cut := statements.returned(tree, frozenset({i}))) is not None]
    made = [c for cut in cuts if (c := search.candidate(show(tidy(cut)), search.best.configuration)) is not None]
    if search.packing and packable(search.best.source):
        found = showing(search, made)
        made = [c for c in made if c.key in found]
    search.offer("slice", *(c.source for c in sorted(made, key=lambda c: size(c.source))[:MOST_ALONE]))
