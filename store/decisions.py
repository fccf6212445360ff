"""What people decided about a finding, read from its history: the newest decision on each column and each label holds.

Two stores that hold the same events therefore come to the same answer, whichever was imported into which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from store import edits
from store.records import JSON, State, canonical
from store.rows import Event

IMPORTED = "imported"
"""Kind of the events by which an import brings a finding in line with decisions that stand in the history already."""

COLUMNS = ("state", "duplicate_of", "fixed_torch", "title", "assignee", "verified", "verified_runs")
_LOCAL = frozenset({"bucket_id", "signature_id", "duplicate_of", edits.INTO, edits.FROM, edits.JOB})
"""Numbers that mean something else in another store."""
_STEP = re.compile(r"\bstep \d+ (undone|done again)")


@dataclass(frozen=True, slots=True)
class Decisions:
    """``columns``: the newest value of each column that somebody set; ``labels``: whether each label that was ever touched is on."""

    columns: Mapping[str, JSON] = field(default_factory=dict)
    labels: Mapping[str, bool] = field(default_factory=dict)


def identity(event: Event) -> str:
    """Equal for the same event in two stores, whatever its numbers there."""
    return canonical([event.at, event.actor, event.kind, plain_why(event.why), _portable(event.before), _portable(event.after)])


def plain_why(why: str) -> str:
    """The reason without the number of a step, which is another in every store."""
    return _STEP.sub(r"\1", why)


def newest(history: Iterable[Event]) -> Decisions:
    """The decisions that hold after all these events; what an import repeated is none, taking an import back is one."""
    columns: dict[str, JSON] = {}
    labels: dict[str, bool] = {}
    for event in sorted(history, key=lambda e: (e.at, identity(e))):
        if event.kind == IMPORTED and event.undoes is None:
            continue
        if event.kind == "created":
            continue  # that somebody found it too says nothing against what was decided
        told = {name: event.after[name] for name in COLUMNS if name in event.after}
        if _automatic(event) and columns.get("state", State.NEW) not in _FROM[event.after["state"]]:
            del told["state"]
        columns.update(told)
        labels.update(dict.fromkeys(event.before.get("labels", ()), False))
        labels.update(dict.fromkeys(event.after.get("labels", ()), True))
    return Decisions(columns, labels)


_FROM: Mapping[str, frozenset[str]] = {
    State.CONFIRMED: frozenset({State.NEW, State.FLAKY}),
    State.FLAKY: frozenset({State.NEW, State.FLAKY}),
    State.REGRESSED: frozenset({State.FIXED}),
}
"""From where a state changes by itself (``states.verified``, ``states.seen_again``); what a person decided elsewhere is not overruled."""


def _automatic(event: Event) -> bool:
    """Whether cold runs or another sighting changed the state, and no person."""
    state = event.after.get("state")
    return (
        state in _FROM
        and event.undoes is None
        and ("verified_runs" in event.after or (state == State.REGRESSED and set(event.after) == {"state"}))
    )


def _portable(values: Mapping[str, JSON]) -> dict[str, JSON]:
    return {name: value for name, value in values.items() if name not in _LOCAL}
