"""The states of a finding and the moves between them: a table, pure. Below it, the two ways a state changes: by a person, and by itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from store import changes, versions
from store.errors import WorkbenchError
from store.events import Step, new_step
from store.records import JSON, SIDE_EXITS, State
from store.rows import CONFIRMING_RUNS

_WORKED_ON = frozenset({State.CONFIRMED, State.TRIAGED, State.REPORTED, State.FIXED})

TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.NEW: _WORKED_ON | SIDE_EXITS,
    State.CONFIRMED: (_WORKED_ON | SIDE_EXITS) - {State.CONFIRMED},
    State.TRIAGED: (_WORKED_ON | SIDE_EXITS) - {State.TRIAGED},
    State.REPORTED: (_WORKED_ON | SIDE_EXITS) - {State.REPORTED},
    State.FIXED: frozenset({State.REGRESSED, State.CONFIRMED, State.TRIAGED, State.REPORTED}),
    State.REGRESSED: (_WORKED_ON | SIDE_EXITS) - {State.CONFIRMED},
    **{exit_: frozenset({State.NEW, State.CONFIRMED, State.TRIAGED}) | SIDE_EXITS - {exit_} for exit_ in SIDE_EXITS},
}
"""Where a finding may go from each state. Nothing becomes new again except from a side exit; only what was fixed can regress."""

OPEN = frozenset({State.NEW, State.CONFIRMED, State.TRIAGED, State.REPORTED, State.REGRESSED})
"""States that still ask for somebody's attention."""


def set_state(
    c: sqlite3.Connection,
    ids: Sequence[int],
    state: State,
    *,
    actor: str,
    why: str = "",
    duplicate_of: int | None = None,
    torch: str = "",
    step: Step | None = None,
) -> list[int]:
    """Move findings in one step (or as part of ``step``), all or none; returns those that changed."""
    if (state is State.DUPLICATE) != (duplicate_of is not None):
        raise WorkbenchError("a duplicate needs the finding it repeats, and only a duplicate does", "give both, or neither")
    rows = changes.current(c, ids, ("state", "duplicate_of", "torch"))
    for row in rows:
        _check_move(row["id"], State(row["state"]), state)
    root = _original(c, duplicate_of, ids) if duplicate_of is not None else None
    values: dict[str, JSON] = {"state": state.value, "duplicate_of": root}
    if state is State.FIXED:
        values["fixed_torch"] = torch
    return changes.change(c, step or new_step(c, actor, why), "state", ids, values)


FOLDABLE = OPEN - {State.REPORTED}
"""Members of a bucket that are still to be decided: these become duplicates of its leader."""


def fold(c: sqlite3.Connection, bucket_ids: Sequence[int], *, actor: str, why: str) -> list[int]:
    """In each bucket, what is still to be decided becomes a duplicate of the leader; one step. Buckets whose leader was put aside are left."""
    step, changed = new_step(c, actor, why), list[int]()
    for bucket_id in dict.fromkeys(bucket_ids):
        leader = c.execute(
            "SELECT f.id, f.state FROM buckets b JOIN findings f ON f.id = b.leader_id WHERE b.id = ?", (bucket_id,)
        ).fetchone()
        if leader is None or State(leader["state"]) in SIDE_EXITS:
            continue
        marks = ", ".join("?" * len(FOLDABLE))
        members = c.execute(
            f"SELECT id FROM findings WHERE bucket_id = ? AND id <> ? AND deleted IS NULL AND state IN ({marks})",
            (bucket_id, leader["id"], *(s.value for s in FOLDABLE)),
        ).fetchall()
        if members:
            changed += set_state(c, [m[0] for m in members], State.DUPLICATE, actor=actor, duplicate_of=leader["id"], step=step)
    return changed


def verified(c: sqlite3.Connection, finding_id: int, same: int, of: int, *, actor: str) -> None:
    """Record n of m cold runs, and what follows for a finding that nobody has looked at yet."""
    if not 0 <= same <= of or of == 0:
        raise ValueError(f"{same} of {of} runs")
    values: dict[str, JSON] = {"verified": same, "verified_runs": of}
    row = changes.current(c, [finding_id], ("state",))[0]
    if row["state"] in (State.NEW, State.FLAKY):
        if same == of and of >= CONFIRMING_RUNS:
            values["state"] = State.CONFIRMED.value
        elif same < of:
            values["state"] = State.FLAKY.value
    kind = "state" if values.get("state", row["state"]) != row["state"] else "verified"
    changes.change(c, new_step(c, actor, f"{same} of {of} cold runs"), kind, [finding_id], values)


def seen_again(c: sqlite3.Connection, finding_id: int, torch: str) -> None:
    """A mismatch was seen on this torch: a fixed finding regresses if the version is at least as new as the one that showed it fixed.

    Where that version is not known, any version newer than the last one that showed the bug counts.
    """
    row = c.execute("SELECT state, torch, fixed_torch FROM findings WHERE id = ?", (finding_id,)).fetchone()
    if row["state"] != State.FIXED:
        return
    new, fixed, last = versions.key(torch), versions.key(row["fixed_torch"]), versions.key(row["torch"])
    if new and (new >= fixed if fixed else new > last):
        step = new_step(c, "store", f"seen again on torch {torch}")
        changes.change(c, step, "state", [finding_id], {"state": State.REGRESSED.value})


def _check_move(finding_id: int, old: State, new: State) -> None:
    if old is new or new in TRANSITIONS[old]:
        return
    allowed = ", ".join(s.value for s in State if s in TRANSITIONS[old])
    raise WorkbenchError(
        f"finding {finding_id} is {old.value} and cannot become {new.value}; nothing was changed",
        f"from {old.value}: {allowed}; undo takes a move back",
    )


def _original(c: sqlite3.Connection, target: int, ids: Sequence[int]) -> int:
    """The finding at the end of the chain of duplicates; the findings that point to it must not be on that chain."""
    seen: list[int] = []
    while True:
        if target in ids or target in seen:
            raise WorkbenchError(f"finding {target} would be a duplicate of itself", "name a finding that is not among the duplicates")
        seen.append(target)
        row = changes.current(c, [target], ("duplicate_of",))[0]
        if row["duplicate_of"] is None:
            return target
        target = row["duplicate_of"]
