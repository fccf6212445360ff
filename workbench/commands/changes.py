"""What the commands and the screen share about changing findings: whose name stands in the history, and how labels are written."""

from __future__ import annotations

import getpass
from collections.abc import Sequence

from workbench.errors import WorkbenchError


def actor() -> str:
    """The name under which a person's changes stand in the history."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no account of that number, as in some containers
        return "somebody"


def parse_labels(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """``["+a", "-b", "c"]`` as (["a", "c"], ["b"]); WorkbenchError for an empty or contradictory one."""
    add: list[str] = []
    remove: list[str] = []
    for word in words:
        name = word[1:] if word[:1] in "+-" else word
        if not name.strip():
            raise WorkbenchError(f"label {word!r} has no name", "write +name to put it on, -name to take it off")
        (remove if word.startswith("-") else add).append(name)
    both = sorted(set(add) & set(remove))
    if both:
        raise WorkbenchError(f"label {both[0]} is both put on and taken off", "write it once")
    return add, remove


def split_ids(words: Sequence[str]) -> tuple[list[int], list[str]]:
    """Leading finding numbers, and what follows them; WorkbenchError when there are none."""
    ids: list[int] = []
    for place, word in enumerate(words):
        if not word.isascii() or not word.isdigit():
            rest = list(words[place:])
            break
        ids.append(int(word))
    else:
        rest = []
    if not ids:
        raise WorkbenchError(
            f"{words[0] if words else 'nothing'!r} is no finding number", "begin with the findings' numbers; workbench list shows them"
        )
    return list(dict.fromkeys(ids)), rest
