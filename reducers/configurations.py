"""Configurations to try instead of a given one: everything at its default, then key by key, then options by runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from reducers.chunks import schedule
from store.records import JSON, Configuration

OPTIONS = ("inductor", "dynamo")
FIXED = frozenset({"backend", "device", *OPTIONS})
"""``backend`` follows the stage and ``device`` the machine; options have runs of their own."""


def towards_default(configuration: Configuration) -> Iterator[Configuration]:
    """Smaller configurations, the boldest first. Restart after each accepted one; when none is accepted, no single key or option can go."""
    plain = Configuration(backend=configuration.backend, device=configuration.device)
    if configuration == plain:
        return
    yield plain
    keys = [f.name for f in fields(configuration) if f.name not in FIXED and getattr(configuration, f.name) != getattr(plain, f.name)]
    options = [(section, name) for section in OPTIONS for name in getattr(configuration, section)]
    if keys and options:
        yield configuration.with_(**{section: {} for section in OPTIONS})
        yield configuration.with_(**{k: getattr(plain, k) for k in keys})
    for key in keys:
        yield configuration.with_(**{key: getattr(plain, key)})
    for run in schedule(len(options)):
        yield _without(configuration, options[run.start : run.end])


def _without(configuration: Configuration, options: list[tuple[str, str]]) -> Configuration:
    kept: dict[str, Mapping[str, JSON]] = {}
    for section in OPTIONS:
        now: Mapping[str, JSON] = getattr(configuration, section)
        kept[section] = {name: value for name, value in now.items() if (section, name) not in options}
    return configuration.with_(**kept)
