"""In which order to try removing parts of a list: a fixed schedule of shrinking runs, from the end, never re-testing complements.

What ProbDD learns about its elements comes to such a schedule of sizes (the counter-based variant, CDD), and a fixed schedule is the same
for any number of workers. The closing runs of one make the result 1-minimal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the schedule stands.

    size: length of the runs being tried
    end:  the next run ends here (exclusive)
    stop: scanning ends here: everything before it was tried on this very list
    last: where a run of one was last removed; after the scan everything behind it is tried once more
    """

    size: int
    end: int
    stop: int = 0
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Elements ``start:end`` to remove together, and where to go on once they are gone."""

    start: int
    end: int
    then: Cursor


def schedule(count: int, cursor: Cursor | None = None, *, first: int | None = None, last: int = 1) -> Iterator[Run]:
    """Runs to try on a list of ``count``, assuming that each is refused. After an accepted one, call again with the new count and its
    ``then``; when the iterator ends, no single element can go.

    first: size of the first runs; by default half the list (at least one)
    last:  size of the last runs; above one, somebody else has to try single elements
    """
    if count < max(1, last):
        return
    at = cursor or Cursor(_start(count, first), count)
    if at.size > count or at.end > count:
        at = Cursor(min(at.size, max(count, 1)), min(at.end, count), at.stop, at.last)
    while True:
        while at.end > at.stop:
            start = max(at.stop, at.end - at.size)
            yield Run(start, at.end, Cursor(1, start, 0, start) if at.size == 1 else Cursor(at.size, start))
            at = Cursor(at.size, start, at.stop, at.last)
        if at.size > 1 and at.size // 2 < last:
            return
        if at.size > 1:
            at = Cursor(at.size // 2, count)
        elif at.last is not None and at.last < count:
            at = Cursor(1, count, at.last)
        else:
            return


def _start(count: int, first: int | None) -> int:
    return min(count, first) if first is not None else max(1, count // 2)
