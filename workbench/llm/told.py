"""What an endpoint, a model or a library said, as one line that is fit for a screen and for the store."""

from __future__ import annotations

import re

from workbench.llm import secret

LONGEST = 200
"""Characters of what a server said; the rest is seldom about the fault."""
_PASSWORD = re.compile(r"(?<=://)[^/\s@'\"]+@")


def line(said: object, longest: int = LONGEST) -> str:
    """One printable line without the key and without passwords of addresses, cut to ``longest`` only after that: half a key is a key told."""
    text = _PASSWORD.sub("[password]@", secret.redact(str(said)))
    text = " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
