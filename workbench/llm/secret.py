"""The endpoint's key: taken out of the environment before anything else runs, so that no child process inherits it."""

from __future__ import annotations

import os

NAME = "OPENAI_API_KEY"
_taken: list[str] = []


def hide() -> None:
    """Move the key from the environment into this module."""
    value = os.environ.pop(NAME, None)
    if value is not None:
        _taken[:] = [value.strip()]


def key() -> str:
    """The key, or an empty text."""
    hide()
    return _taken[0] if _taken else ""


def redact(text: str) -> str:
    """The text without the key, wherever it came from: servers repeat it in error messages."""
    secret = key()
    return text.replace(secret, "[key]") if len(secret) >= 8 else text
