"""The data of mutators: calls and snippets kept as TOML beside this module, one a line or one an item, so that adding one is no programming."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

Item = tuple[str, ...]


@cache
def calls(name: str) -> tuple[str, ...]:
    """The expressions of ``pools/NAME.toml``; the comment at its head says what its placeholders stand for."""
    return tuple(_read(name)["calls"])


@cache
def items(name: str) -> tuple[Item, ...]:
    """The snippets of ``pools/NAME.toml``, each a tuple of its fields in the order of the file."""
    return tuple(tuple(text.strip("\n") for text in item.values()) for item in _read(name)["item"])


def _read(name: str) -> dict:  # type: ignore[type-arg]
    file = resources.files("workbench.fuzz.mutators") / "pools" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
