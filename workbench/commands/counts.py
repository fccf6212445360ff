"""The counters of one campaign, a row a characteristic, a row a mutator, the model, for a terminal, a pipe, or a CSV file. Reads what the campaign stored."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from store.records import JSON
from store.rows import Campaign

COLUMNS = (
    "campaign",
    "kind",
    "name",
    "code",
    "tried",
    "valid",
    "mismatches",
    "noise",
    "errors",
    "undecided",
    "buckets",
    "seconds",
    "first_seen",
)
"""``tried``: mutants made, valid or not; ``seconds``: in workers; ``first_seen``: seconds from the start to the first mismatch, or empty."""
LLM = "llm"
"""What the LLM is called among the mutators (``llm.author.NAME``)."""
KINDS = {"by_characteristic": "characteristic", "by_mutator": "mutator"}


def rows(campaign: Campaign) -> list[dict[str, JSON]]:
    """One dictionary a line, keys ``COLUMNS``: the whole campaign first, then by characteristic and by mutator, most buckets first; then the model, where an LLM wrote mutants."""
    found = [_row(campaign, "campaign", str(campaign.settings.get("strategy", "")), campaign.counters, total=True)]
    for group, kind in KINDS.items():
        counts = campaign.counters.get(group)
        named = [(str(name), c) for name, c in counts.items() if isinstance(c, dict)] if isinstance(counts, dict) else []
        order = sorted(named, key=lambda item: (-_number(item[1].get("buckets")), -_number(item[1].get("mismatches")), item[0]))
        found += [_row(campaign, kind, name, counter) for name, counter in order]
    return found + _model(campaign)


def _model(campaign: Campaign) -> list[dict[str, JSON]]:
    """What the LLM's mutants came to, under the name of the model that wrote them; older campaigns do not know it."""
    model, by_mutator = campaign.settings.get("model"), campaign.counters.get("by_mutator")
    counter = by_mutator.get(LLM) if isinstance(by_mutator, dict) else None
    return [_row(campaign, "model", str(model), counter if isinstance(counter, dict) else {})] if model else []


def as_csv(campaign: Campaign) -> str:
    """The rows with a header line, as RFC 4180 has it but for lines that end in a newline alone."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows(campaign))
    return text.getvalue()


def lines(campaign: Campaign) -> Iterator[list[str]]:
    """The rows as cells, without the campaign's number."""
    for row in rows(campaign):
        yield ["" if row[name] is None else str(row[name]) for name in COLUMNS[1:]]


def _row(campaign: Campaign, kind: str, name: str, counter: Mapping[str, Any], *, total: bool = False) -> dict[str, JSON]:
    return {
        "campaign": campaign.id,
        "kind": kind,
        "name": name,
        "code": counter.get("code", ""),
        "tried": counter.get("tests", 0),
        **{key: counter.get(key, 0) for key in ("valid", "mismatches", "noise", "errors", "undecided")},
        "buckets": counter.get("buckets", 0),
        "seconds": counter.get("worker_seconds" if total else "seconds", 0),
        "first_seen": counter.get("first"),
    }


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
