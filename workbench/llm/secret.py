"""The endpoint's key: taken out of the environment before anything else runs, so that no child process inherits it."""

from __future__ import annotations

import json
import os
from urllib.parse import quote

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
    """The text without the key, wherever it came from and as JSON and addresses spell it too: servers repeat it in error messages."""
    secret = key()
    if len(secret) < 8:  # "none", "local": words of programs, given to servers that want no key
        return text
    for spelled in {secret, json.dumps(secret)[1:-1], secret.replace("/", "\\/"), quote(secret, safe="")}:
        text = text.replace(spelled, "[key]")
    return text
