"""Tabs: filters with a name, kept in a TOML file of the person who uses the screen."""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from store.query import parse
from workbench.commands.changes import actor
from workbench.errors import WorkbenchError

LONGEST = 16
MOST = 9
"""As many as there are keys for."""


def usual() -> dict[str, str]:
    """The tabs of somebody who has saved none."""
    me = actor()
    mine = {"mine": f'who:"{me}"'} if '"' not in me else {}
    return {
        "all": "",
        "new": "state:new",
        "confirmed": "state:confirmed",
        "regressed": "state:regressed",
        "triaged": "state:triaged",
        **mine,
    }


def tabs_file() -> Path:
    """``triage.toml`` in the platform's configuration folder."""
    import platformdirs

    return Path(platformdirs.user_config_path("torch-compile-workbench")) / "triage.toml"


def load(path: Path) -> tuple[dict[str, str], str]:
    """The tabs, in order, and a sentence when the file cannot be used (then the usual ones are shown)."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return usual(), ""
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return usual(), f"{path} cannot be read ({error}); the usual tabs are shown"
    tabs = data.get("tabs")
    if not isinstance(tabs, dict) or not all(isinstance(v, str) for v in tabs.values()):
        return usual(), f'{path} has no [tabs] with lines such as "new" = "state:new"; the usual tabs are shown'
    return dict(list(tabs.items())[:MOST]), ""


def save(path: Path, tabs: Mapping[str, str]) -> None:
    """Keep the tabs, whole or not at all; WorkbenchError when that cannot be."""
    lines = ["# Filters shown as tabs by workbench triage.", "[tabs]", *(f"{_quoted(k)} = {_quoted(v)}" for k, v in tabs.items()), ""]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        os.replace(name, path)
    except OSError as error:
        raise WorkbenchError(f"{path}: the tabs could not be kept ({error.strerror})", "the tab is there until you quit") from error


def added(tabs: Mapping[str, str], name: str, query: str) -> dict[str, str]:
    """The tabs with one more, or with another filter under a name; WorkbenchError for a name or filter that will not do."""
    plain = " ".join(name.split())
    if not plain or len(plain) > LONGEST or not plain.isprintable():
        raise WorkbenchError(f"{name!r} cannot name a tab", f"1 to {LONGEST} printable characters")
    parse(query)
    if plain not in tabs and len(tabs) >= MOST:
        raise WorkbenchError(f"there are {MOST} tabs already", "D takes the one that is shown away")
    return {**tabs, plain: query}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
