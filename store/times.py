"""Times as the store keeps them: ISO-8601 text in UTC with milliseconds, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def now(plus: float = 0.0) -> str:
    """The time ``plus`` seconds from now."""
    return as_text(datetime.now(UTC) + timedelta(seconds=plus))


def as_text(moment: datetime) -> str:
    """``2026-12-01T03:20:00.000Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
