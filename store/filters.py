"""Terms of a filter to SQL, and the three questions asked with it: which findings, how many, how many of each.

Conditions are written so that an index answers them alone (partial indexes over what is not deleted); 100,000 findings filter in well under
0.1 s, see tests/benchmarks/test_store_speed.py. Full text is never ranked: ranking costs 10,000 times more than taking the newest.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from store import search, states, times
from store.errors import WorkbenchError
from store.query import Span, Term, Word, parse

ORDERS: Mapping[str, str] = {
    "id": "id",
    "seen": "seen",
    "created": "created",
    "count": "count",
    "size": "statements",
    "state": "state",
    "stage": "stage",
    "title": "title",
    "bucket": "bucket_id",
    "dtype": "dtype",
    "backend": "backend",
    "torch": "torch_key",
    "code": "code",
    "who": "assignee",
    "reduction": "reduction",
}
"""What a list may be ordered by, ``-`` in front for descending."""

TALLIES: Mapping[str, str] = {
    "state": "state",
    "stage": "stage",
    "code": "code",
    "dtype": "dtype",
    "backend": "backend",
    "torch": "torch",
    "who": "assignee",
    "reduction": "reduction",
    "bucket": "bucket_id",
    "characteristic": "characteristic",
    "origin": "origin",
    "symptom": "finding_symptoms.symptom",
    "op": "finding_ops.op",
    "label": "finding_labels.label",
}
"""What findings can be counted by."""

_COLUMNS = {"state": "state", "stage": "stage", "code": "code", "dtype": "dtype", "backend": "backend", "who": "assignee"}
_SPANS = {"bucket": "bucket_id", "size": "statements", "torch": "torch_key", "age": "created", "seen": "seen"}
_TABLES = {"symptom": ("finding_symptoms", "symptom"), "op": ("finding_ops", "op"), "label": ("finding_labels", "label")}

Condition = tuple[str, list[Any]]


def ids(c: sqlite3.Connection, text: str, *, order: str = "-id", limit: int | None = None, offset: int = 0) -> list[int]:
    """Ids of the findings that match, in order; of equals the newest first."""
    terms = parse(text)
    where, params = _where(terms)
    if order.removeprefix("-") == "id" and _only_words(terms):
        # the index of words by itself: a word of most findings takes a quarter of the time
        live = "rowid NOT IN (SELECT id FROM findings WHERE deleted IS NOT NULL)"
        where, params = f"findings_fts MATCH ? AND {live}", [search.match(_words(terms))]
        sql = f"SELECT rowid AS id FROM findings_fts WHERE {where} ORDER BY rowid {_direction(order)} LIMIT ? OFFSET ?"
    else:
        sql = f"SELECT id FROM {_source(terms)} WHERE {where} ORDER BY {_order(order, terms)} LIMIT ? OFFSET ?"
    # as one text: 100,000 ids in a third of the time that rows take, and other threads run meanwhile
    every = c.execute(f"SELECT json_group_array(id) FROM ({sql})", [*params, -1 if limit is None else limit, offset])
    found: list[int] = json.loads(every.fetchone()[0])
    return found


def count(c: sqlite3.Connection, text: str) -> int:
    """How many match."""
    terms = parse(text)
    where, params = _where(terms)
    return int(c.execute(f"SELECT count(*) FROM {_source(terms)} WHERE {where}", params).fetchone()[0])


def tally(c: sqlite3.Connection, by: str, text: str) -> dict[str, int]:
    """How many matching findings per value, largest first; a finding with several symptoms, ops or labels counts for each."""
    if by not in TALLIES:
        raise WorkbenchError(f"findings are not counted by {by!r}", f"by: {', '.join(TALLIES)}")
    terms = parse(text)
    where, params = _where(terms)
    table, _, column = TALLIES[by].rpartition(".")
    if not table:
        source = f"findings WHERE {where}"
    elif terms:
        source = f"{table} WHERE finding_id IN (SELECT id FROM findings WHERE {where})"
    else:
        source = f"{table} WHERE finding_id NOT IN (SELECT id FROM findings WHERE deleted IS NOT NULL)"
    numbers: Counter[str] = Counter()
    for row in c.execute(f"SELECT {column} AS value, count(*) AS n FROM {source} GROUP BY {column}", params):
        numbers[str(row["value"] or "none")] += row["n"]
    return dict(sorted(numbers.items(), key=lambda item: (-item[1], item[0])))


def _source(terms: Iterable[Term]) -> str:
    """The table; for mere membership (an op, a word) with the index that alone knows enough: by itself SQLite reads every row of it."""
    terms = list(terms)
    listed = bool(terms) and all((term.key in _TABLES or term.key == "text") and not term.negated for term in terms)
    plain = not any(isinstance(value, Word) and term.key == "label" and value.text.lower() == "none" for term in terms for value in term.values)
    return "findings INDEXED BY findings_live" if listed and plain else "findings"


def _only_words(terms: Sequence[Term]) -> bool:
    return bool(terms) and all(term.key == "text" and not term.negated for term in terms)


def _words(terms: Iterable[Term]) -> list[tuple[str, bool]]:
    """Free text that is searched for: what, and whether it is a whole word."""
    return [(v.text, not v.prefix) for t in terms if t.key == "text" and not t.negated for v in t.values if isinstance(v, Word)]


def _direction(order: str) -> str:
    return "DESC" if order.startswith("-") else "ASC"


def _order(order: str, terms: Iterable[Term]) -> str:
    name, direction = order.removeprefix("-"), _direction(order)
    if name not in ORDERS:
        raise WorkbenchError(f"findings have no order by {name!r}", f"orders: {', '.join(ORDERS)}; - in front for descending")
    column = ORDERS[name]
    if column == "id":
        # A range is read from its own index and then sorted; SQLite would rather walk all rows by id (+ forbids it that).
        ranged = any(isinstance(value, Span) for term in terms if not term.negated for value in term.values)
        return f"{'+' if ranged else ''}id {direction}"
    return f"{column} {direction}, id {direction}"


def _where(terms: Iterable[Term], now: datetime | None = None) -> Condition:
    """One condition for all terms. Free text of several terms is one search."""
    terms = list(terms)
    now = now or datetime.now(UTC)
    wanted = _words(terms)
    parts: list[Condition] = [_text(wanted)] if wanted else []
    for term in terms:
        if term.key == "text" and not term.negated:
            continue
        sql, params = _any(_condition(term.key, value, now) for value in term.values)
        parts.append((f"({sql}) IS NOT TRUE" if term.negated else sql, params))
    sql = " AND ".join(["deleted IS NULL", *(f"({part})" for part, _ in parts)])
    return sql, [param for _, params in parts for param in params]


def _any(conditions: Iterable[Condition]) -> Condition:
    found = list(conditions)
    return " OR ".join(sql for sql, _ in found), [param for _, params in found for param in params]


def _condition(key: str, value: Word | Span, now: datetime) -> Condition:
    if isinstance(value, Span):
        return _span(_SPANS[key], value, now)
    if key == "text":
        return _text([(value.text, not value.prefix)])
    if key in _TABLES:
        return _listed(*_TABLES[key], value)
    return _SPECIAL.get((key, value.text), _equal)(_COLUMNS[key], value)


def _equal(column: str, value: Word) -> Condition:
    return f"{column} = ?", [value.text]


def _none(column: str, _: Word) -> Condition:
    return ("stage IS NULL" if column == "stage" else f"{column} = ''"), []


def _states(chosen: Iterable[str]) -> Callable[[str, Word], Condition]:
    names = sorted(chosen)
    return lambda column, _: (f"{column} IN ({', '.join('?' * len(names))})", list(names))


_SPECIAL: Mapping[tuple[str, str], Callable[[str, Word], Condition]] = {
    ("state", "open"): _states(s.value for s in states.OPEN),
    ("state", "closed"): _states(s.value for s in states.TRANSITIONS if s not in states.OPEN),
    ("stage", "none"): _none,
    ("code", "none"): _none,
    ("who", "none"): _none,
    ("dtype", "none"): _none,
}


def _listed(table: str, column: str, value: Word) -> Condition:
    """Membership in one of the tables of symptoms, ops, labels."""
    if table == "finding_labels" and value.text.lower() == "none":
        return "labels = '[]'", []
    if value.prefix:
        high = value.text[:-1] + chr(ord(value.text[-1]) + 1) if value.text else "\U0010ffff"
        return f"id IN (SELECT finding_id FROM {table} WHERE {column} >= ? AND {column} < ?)", [value.text, high]
    return f"id IN (SELECT finding_id FROM {table} WHERE {column} = ?)", [value.text]


def _text(wanted: list[tuple[str, bool]]) -> Condition:
    return "id IN (SELECT rowid FROM findings_fts WHERE findings_fts MATCH ?)", [search.match(wanted)]


def _span(column: str, span: Span, now: datetime) -> Condition:
    low, high = span.low, span.high
    if span.kind == "seconds":
        return _ago(column, span, now)
    parts: list[str] = []
    params: list[Any] = []
    if low is not None:
        parts, params = [f"{column} >= ?"], [low]
    elif span.kind == "torch":
        parts = [f"{column} > ''"]  # an unknown version is not an old one
    if high is not None:
        parts, params = [*parts, f"{column} < ?"], [*params, high]
    return " AND ".join(parts), params


def _ago(column: str, span: Span, now: datetime) -> Condition:
    """So many seconds ago: the longer, the smaller the time."""
    parts: list[str] = []
    params: list[Any] = []
    if span.low is not None:
        parts, params = [f"{column} <= ?"], [_before(now, span.low)]
    if span.high is not None:
        parts, params = [*parts, f"{column} >= ?"], [*params, _before(now, span.high)]
    return " AND ".join(parts), params


def _before(now: datetime, seconds: float | str) -> str:
    try:
        return times.as_text(now - timedelta(seconds=float(seconds)))
    except OverflowError:
        return ""
