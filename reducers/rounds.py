"""Shrinking in rounds, for programs that can be packed: every single edit of every pass is tried at once, two dozen to a compile; those that
show the bug are applied together, and what they give is a member of the next round's pack. Only where a chain of rounds ends is its program
judged alone and accepted; where that fails, each round's is, with fewer edits together. A round in which none shows it is the end.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from reducers.oracle import Candidate, Judgement, Kind
from reducers.packs import operations, packable, packed
from reducers.search import Pass, Proposal, Search
from reducers.tree import Edit, apply, show, statements
from store.syntax import parse

TOGETHER = 24
"""Members of one pack: a compile takes hardly longer for two dozen small kernels than for one, and they rarely disturb each other."""
OPERATIONS = 120
"""Operations of all members of a pack: a hundred take a compiler several times as long as a few."""
MOST = 48
"""Edits of one round; the boldest of a large program come first, and the rest is asked only when none of them shows the bug."""

MOST_ROUNDS = 8
"""Rounds in a row of which only the end is judged: what is lost when somebody stops the reduction then."""
MOST_JUDGED = 3
"""What packs showed is judged alone from the smallest on; after so many that do not show it, packs are not to be trusted here."""

BARE = frozenset({"bypass", "hoist"})
"""Passes whose edits are also tried without tidying."""

Member = tuple[Edit, Candidate]


def closed(search: Search, passes: Sequence[Pass]) -> bool:
    """Shrink until no single edit of ``passes`` shows the bug; False where the program cannot be packed."""
    while search.packing and packable(search.best.source):
        if _hurried(search, passes):
            continue
        if not search.packing:
            return False
        tree = parse(search.best.source)
        for members in _parts(members_of(search, tree, passes)):
            chosen = showing(search, [candidate for _, candidate in members])
            if not search.packing:
                return False
            if _merged(search, tree, [m for m in members if m[1].key in chosen]):
                break
        else:
            return True
    return False


def _hurried(search: Search, passes: Sequence[Pass]) -> bool:
    """Rounds that go on from what a pack showed, without judging it alone; True when what they came to was judged and accepted."""
    tree = parse(search.best.source)
    shown: list[Candidate] = []  # by packs, smaller and smaller
    ahead: Candidate | None = None  # the edits of the last round together, of which nothing is known yet
    behind: Candidate | None = None  # the smallest of them alone, which a pack showed
    for _ in range(MOST_ROUNDS):
        if shown and search.is_short():
            break  # what there is has to be judged while it can be
        members = members_of(search, tree, passes)[:MOST]
        asked = [*([ahead] if ahead is not None else []), *(candidate for _, candidate in members)]
        if len(asked) < 2:
            break  # no pack: nothing would be asked
        found = showing(search, asked)
        if not search.packing:
            break
        if ahead is not None and found.get(ahead.key):
            shown.append(ahead)
        better = [member for member in members if found.get(member[1].key)]
        if better:
            behind = better[0][1]
            together = _candidate(search, tree, [edit for edit, _ in better]) if len(better) > 1 else None
            ahead = together if together is not None and size(together.source) < size(behind.source) else None
            if ahead is None:
                shown.append(behind)
        elif ahead is None or ahead in shown or behind is None:
            break
        else:
            shown.append(behind)
            ahead = None
        tree = parse((ahead or shown[-1]).source)
    return _accepted(search, shown[: -MOST_JUDGED - 1 : -1])


def members_of(search: Search, tree: ast.Module, passes: Sequence[Pass]) -> list[Member]:
    """Every edit with its candidate, each text once, those that are known to fail left out, the smallest first.

    Where tidying takes too much (what is dead may still draw a random number), the edit is tried without it.
    """
    found: dict[str, Member] = {}

    def add(edit: Edit, made: Candidate | None) -> bool:
        if made is None or made.key in found:
            return False
        known = search.settled.get(made.key)
        if known is None or known.kind is Kind.SAME:
            found[made.key] = edit, made
            return True
        return False

    for pass_ in passes:
        for edit in pass_.edits(tree):
            if not add(edit, _candidate(search, tree, [edit], tidy=pass_.tidy)) and pass_.tidy and pass_.name in BARE:
                add(edit, _candidate(search, tree, [edit], tidy=False))
    return sorted(found.values(), key=lambda member: size(member[1].source))


def size(source: str) -> tuple[int, int, int]:
    """What is smaller: fewer statements, then a shorter text, then smaller numbers."""
    return statements(source), len(source), sum(int(n) for n in re.findall(r"\d+", source)[:400] if len(n) < 9)


def _candidate(search: Search, tree: ast.Module, edits: Sequence[Edit], *, tidy: bool = True) -> Candidate | None:
    changed = apply(tree, edits)
    if changed is None:
        return None
    return search.candidate(show(search.tidy(changed) if tidy and search.tidying else changed), search.best.configuration)


def _parts(members: list[Member]) -> Iterator[list[Member]]:
    for start in range(0, len(members), MOST):
        yield members[start : start + MOST]


def showing(search: Search, candidates: Sequence[Candidate], *, sound: bool = False, halvings: int = 3) -> dict[str, list[str]]:
    """Keys of those that may show the bug, with the paths that differ: eager is asked first, then packs; who cannot be packed may.

    sound:    they run in eager for sure, which need not be asked
    halvings: how often a pack that fails in another way is asked again in halves
    """
    search.progress.current = "pack"
    looked = search.screen(candidates, charge=False, count=False) if not sound else 0
    unknown = [c for c in candidates if c.key not in search.settled]
    alive = [c for c in unknown if packable(c.source)]
    groups = list(_groups(alive))
    if looked and all(len(group) < 2 for group in groups):
        search.charge()  # no pack follows, so the look at eager was a question of its own
    found: dict[str, list[str]] = {c.key: [] for c in unknown if c not in alive}
    for group in groups:
        if not search.packing:
            break
        found |= _asked(search, group, halvings)
    for candidate in candidates:
        told = search.settled.get(candidate.key)
        if told is not None and told.kind is Kind.SAME:
            found[candidate.key] = list(told.differing)
    return found


def _groups(candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Members of one pack each, in order."""
    group: list[Candidate] = []
    weight = 0
    for candidate in candidates:
        own = operations(candidate.source)
        if group and (len(group) == TOGETHER or weight + own > OPERATIONS):
            yield group
            group, weight = [], 0
        group.append(candidate)
        weight += own
    if group:
        yield group


def _asked(search: Search, members: Sequence[Candidate], halvings: int) -> dict[str, list[str]]:
    """What one pack says. Members of a small one that goes on failing in another way are judged alone where one is left, else given up."""
    pack = packed([c.source for c in members]) if len(members) > 1 else None
    if pack is None:
        return {c.key: [] for c in members}
    judgement = search.judge(Candidate(pack.source, members[0].configuration), survey=True)
    if judgement.kind in (Kind.SAME, Kind.AGREE):
        found = {members[i].key: paths for i, paths in pack.showing(judgement.differing).items() if i < len(members)}
        if judgement.kind is Kind.SAME and not found:
            search.packing = False  # a difference in structure, Python values or globals, which no member can be told to own
            return {c.key: [] for c in members}
        for candidate in members:
            if candidate.key not in found:
                search.settle(candidate, Judgement(Kind.AGREE, reason="agrees beside others in one program"))
        return found
    if not halvings:
        return {}
    middle = len(members) // 2
    return _asked(search, members[:middle], halvings - 1) | _asked(search, members[middle:], halvings - 1)


def _merged(search: Search, tree: ast.Module, members: list[Member]) -> bool:
    """Accept as many of these edits together as show the bug; True when the program changed."""
    search.progress.current = "merge"
    if len(members) > 1 and _accepted(search, [_candidate(search, tree, [edit for edit, _ in members])]):
        return True
    counts: list[int] = []
    while len(members) >> len(counts) > 3:
        counts.append(len(members) >> (len(counts) + 1))
    return _accepted(search, [*(_candidate(search, tree, [e for e, _ in members[:n]]) for n in counts), *(c for _, c in members)])


def _accepted(search: Search, candidates: Sequence[Candidate | None]) -> bool:
    """The first of these that shows the bug is accepted."""
    return search.first(Proposal(c) for c in candidates if c is not None) is not None
