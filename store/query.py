"""The filter language of ``workbench list`` and the query bar: text to terms. ``store.filters`` makes SQL of them.

    state:new,confirmed op:index_put -label:flaky dtype:f16 age:<7d size:10..40 "exact words" beginning-of-a-word

Terms are joined by *and*, the values of one term by *or*; ``-`` in front negates; quotes keep spaces together.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from store import search, versions
from store.errors import WorkbenchError
from store.records import LADDER, Stage, State, Symptom

KEYS: Mapping[str, str] = {
    "state": "new confirmed triaged reported fixed regressed flaky noise expected duplicate wontfix; open, closed",
    "stage": "dynamo aot decomposition inductor; none",
    "symptom": "value nan dtype shape stride device requires_grad alias mutation gradient rng structure pyvalue modes missing_error exception",
    "code": "trigger code: NT PO AM BV OS SR MD LC EN; none",
    "op": "an op that the program calls; index* for all that begin so",
    "dtype": "of the first difference: float16 or f16, bfloat16 or bf16, int64 or i64 ...",
    "backend": "inductor, aot_eager ...",
    "label": "a label, in quotes if it has spaces; none",
    "bucket": "a bucket's number",
    "torch": "2.13 (with its patch releases), >=2.12, 2.11..2.12",
    "age": "since it was found first: <7d, 2h..3d (m h d w)",
    "seen": "since it was found last: <7d; or a date: >=2026-11-30, 2026-11",
    "size": "statements to read: <10, 10..40",
    "who": "assignee; none",
}
"""Every key, and in a few words what it takes."""

VALUES: Mapping[str, tuple[str, ...]] = {
    "state": (*(s.value for s in State), "open", "closed"),
    "stage": (*(s.value for s in Stage), "none"),
    "symptom": tuple(s.value for s in Symptom),
    "code": ("NT", "PO", "AM", "BV", "OS", "SR", "MD", "LC", "EN", "none"),
    "backend": tuple(LADDER.values()),
}
"""Words to complete; for state, stage, symptom and code the only ones there are."""

_CLOSED_SETS = ("state", "stage", "symptom", "code")
_RANGES = ("bucket", "torch", "age", "seen", "size")
_TOKEN = re.compile(r'(?P<minus>-?)(?:(?P<key>[A-Za-z_]+):)?(?P<value>(?:"[^"]*"|[^\s"])*)')
_UNUSABLE = re.compile("[\x00\ud800-\udfff]")  # SQLite takes neither; undecodable bytes of a command line become the latter
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2}(T[\d:.]+Z?)?)?)?")
_DTYPES = {
    "f16": "float16", "half": "float16", "bf16": "bfloat16", "f32": "float32", "float": "float32", "f64": "float64", "double": "float64",
    "i8": "int8", "i16": "int16", "short": "int16", "i32": "int32", "int": "int32", "i64": "int64", "long": "int64", "u8": "uint8",
    "u16": "uint16", "u32": "uint32", "u64": "uint64", "c64": "complex64", "c128": "complex128", "b8": "bool",
}  # fmt: skip


class QueryError(WorkbenchError):
    """A filter that cannot be read. ``start`` and ``end``: where in the text, for marking it."""

    def __init__(self, message: str, hint: str, start: int, end: int) -> None:
        super().__init__(f"filter, column {start + 1}: {message}", hint)
        self.start = start
        self.end = end


@dataclass(frozen=True, slots=True)
class Word:
    """A value to be equal to. ``prefix``: to begin with (``index*``)."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Values from ``low`` (inclusive) to before ``high``; None is open. ``kind``: ``number``, ``torch``, ``seconds`` ago, ``time``."""

    kind: str
    low: float | str | None
    high: float | str | None


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. ``key`` is ``text`` for free text; ``start`` and ``end`` say where it stands."""

    key: str
    values: tuple[Word | Span, ...]
    negated: bool
    start: int
    end: int


def parse(text: str) -> tuple[Term, ...]:
    """The terms of a filter; QueryError says what is wrong, where, and what would be right."""
    return tuple(_terms(text))


def _terms(text: str) -> Iterator[Term]:
    unusable = _UNUSABLE.search(text)
    if unusable is not None:
        raise QueryError("a character that no text has", "leave it out", unusable.start(), unusable.end())
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _TOKEN.match(text, position)
        if match is None or match.end() == position:
            raise QueryError("a quote is not closed", 'put a second " behind the words', position, len(text))
        if match.end() < len(text) and text[match.end()] == '"':
            raise QueryError("a quote is not closed", 'put a second " behind the words', match.end(), len(text))
        yield _term(match)
        position = match.end()


def _term(match: re.Match[str]) -> Term:
    key, value, negated = match["key"], match["value"], bool(match["minus"])
    start, end = match.start(), match.end()
    if key is None:
        if re.match(r"[^\W\d]\w*:", value):
            raise _unknown_key(value.partition(":")[0], start, end)
        return Term("text", (_free(value, start, end),), negated, start, end)
    if key.lower() not in KEYS:
        raise _unknown_key(key, start, end)
    key = key.lower()
    begin = match.start("value")
    values = tuple(_value(key, part, begin + offset) for offset, part in _alternatives(value))
    if not values:
        raise QueryError(f"{key}: needs a value", KEYS[key], start, end)
    return Term(key, values, negated, start, end)


def _unknown_key(key: str, start: int, end: int) -> QueryError:
    close = difflib.get_close_matches(key.lower(), KEYS, 1)
    guess = f' Did you mean "{close[0]}"?' if close else " In quotes it is searched for as text."
    return QueryError(f'unknown key "{key}"', f"known keys: {', '.join(KEYS)}.{guess}", start, end)


def _free(value: str, start: int, end: int) -> Word:
    text = value.replace('"', "")
    if not search.findable(text):
        raise QueryError(f"nothing to search for in {value or '-'!r}", "free text needs a letter or a digit", start, end)
    return Word(text, prefix='"' not in value)


def _alternatives(value: str) -> Iterator[tuple[int, str]]:
    """Parts between commas outside quotes, with their offsets; empty ones left out."""
    for match in re.finditer(r'(?:"[^"]*"|[^,"])+', value):
        if match[0].replace('"', "").strip():
            yield match.start(), match[0]


def _value(key: str, part: str, start: int) -> Word | Span:
    text = part.replace('"', "").strip()
    end = start + len(part)
    if key in _RANGES:
        return _span(key, text, start, end)
    if key in _CLOSED_SETS:
        known = {v.lower(): v for v in VALUES[key]}
        if text.lower() not in known:
            raise QueryError(f'{key} is never "{text}"', f"{key}: {' '.join(VALUES[key])}", start, end)
        return Word(known[text.lower()])
    if key == "dtype":
        plain = text.lower().removeprefix("torch.")
        return Word(_DTYPES.get(plain, plain))
    if key == "op":
        return Word(text.removesuffix("*").rstrip("_"), prefix=text.endswith("*"))
    return Word(text)


def _span(key: str, text: str, start: int, end: int) -> Span:
    """``10``, ``<10``, ``>=10``, ``10..40``, ``10..``, ``..40`` over the key's kind of value."""
    match = re.fullmatch(r"(<=|>=|<|>|=)?(.+)", text)
    if match is None or text == "..":
        raise QueryError(f"{key}: {text!r} is no value", KEYS[key], start, end)
    sign, rest = match[1], match[2].strip()
    first, dots, last = rest.partition("..")
    if dots and sign:
        raise QueryError(f"{key}: either {sign} or .., not both", KEYS[key], start, end)

    def bounds(part: str) -> tuple[str, float | str, float | str]:
        found = _READERS[key](part.strip())
        if found is None:
            raise QueryError(f"{key}: {part!r} is no value", KEYS[key], start, end)
        return found

    if dots:
        low = bounds(first) if first else None
        high = bounds(last) if last else None
        kinds = {b[0] for b in (low, high) if b}
        if len(kinds) != 1:
            raise QueryError(f"{key}: {text!r} mixes dates and durations", KEYS[key], start, end)
        return Span(kinds.pop(), low[1] if low else None, high[2] if high else None)
    kind, low_bound, high_bound = bounds(rest)
    if kind == "seconds" and not sign:
        return Span(kind, None, high_bound)  # ``age:7d``: within seven days
    spans: dict[str | None, tuple[float | str | None, float | str | None]] = {
        None: (low_bound, high_bound),
        "=": (low_bound, high_bound),
        "<": (None, low_bound),
        "<=": (None, high_bound),
        ">": (high_bound, None),
        ">=": (low_bound, None),
    }
    return Span(kind, *spans[sign])


def _number(text: str) -> tuple[str, float | str, float | str] | None:
    return ("number", int(text), int(text) + 1) if re.fullmatch(r"[0-9]{1,15}", text) else None


def _torch(text: str) -> tuple[str, float | str, float | str] | None:
    found = versions.bounds(text)
    return ("torch", *found) if found else None


def _duration(text: str) -> tuple[str, float | str, float | str] | None:
    match = re.fullmatch(r"([0-9]{1,6})([mhdw])", text.lower())
    if match is None:
        return None
    seconds = int(match[1]) * _UNITS[match[2]]
    return "seconds", seconds, seconds


def _moment(text: str) -> tuple[str, float | str, float | str] | None:
    if _DATE.fullmatch(text):
        return "time", text, text + "~"  # "~" comes after everything that a time can go on with
    return _duration(text)


_READERS: Mapping[str, Callable[[str], tuple[str, float | str, float | str] | None]] = {
    "bucket": _number,
    "size": _number,
    "torch": _torch,
    "age": _duration,
    "seen": _moment,
}
