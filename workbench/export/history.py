"""One event of a finding's history as a line for people."""

from __future__ import annotations

from store.records import JSON
from store.rows import Event


def event_line(event: Event) -> tuple[str, str]:
    """(time to the minute, what happened)."""
    changes = []
    for key, after in event.after.items():
        before = event.before.get(key)
        if before == after:
            continue
        changes.append(f"{key} {_plain(before)} → {_plain(after)}" if key in event.before else f"{key} {_plain(after)}")
    undone = f" (takes back step {event.undoes})" if event.undoes else ""
    why = f": {event.why}" if event.why else ""
    return event.at[:16].replace("T", " "), f"{event.kind} {', '.join(changes)}".rstrip() + undone + why


def _plain(value: JSON) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, str) and len(value) > 60:
        return value[:57] + "…"
    return "none" if value in (None, "") else str(value)
