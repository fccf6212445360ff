"""Order of torch versions: a key whose text order is version order, so that SQLite can compare and index it."""

from __future__ import annotations

import re

_VERSION = re.compile(r"(\d+(?:\.\d+){0,3})(?:\.?(dev|a|b|rc)(\d*))?")
_PHASES = {"dev": 0, "a": 1, "b": 2, "rc": 3}


def key(version: str) -> str:
    """``2.13.0+cpu`` becomes ``00002.00013.00000.4000000000``; a text that is no version becomes the empty key, before all others."""
    match = _VERSION.match(version)
    if match is None:
        return ""
    numbers = [int(n) for n in match[1].split(".")]
    release = numbers[:3] + [0] * (3 - len(numbers))
    phase = _PHASES[match[2]] if match[2] else 4
    serial = int(match[3] or 0) if match[2] else 0
    return ".".join(f"{n:05d}" for n in release) + f".{phase}{serial:09d}"


def bounds(version: str) -> tuple[str, str] | None:
    """Keys from which and before which a version lies: ``2.13`` covers all of its patch releases. None if it is no version."""
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", version)
    if match is not None:
        prefix = "".join(f"{int(n):05d}." for n in match.groups() if n is not None)
        return prefix, prefix[:-1] + "/"  # "/" comes right after "."
    if _VERSION.fullmatch(version) is None:
        return None
    return key(version), key(version) + "/"
