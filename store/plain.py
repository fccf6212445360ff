"""Texts of programs, verdicts and other people's stores as a person may see them: nothing in them acts on a terminal, nothing in them is unseen."""

from __future__ import annotations

LONGEST_LINE = 300
"""Characters of a text that has one line of a screen or a table."""


class _Signs(dict[int, str]):
    """Characters that act or are unseen (escapes, controls, directions, odd spaces), each with the one sign that stands for it."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        if not sign.isprintable():
            sign = chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"
        self[code] = sign
        return sign


_BLOCK = _Signs({ord("\n"): "\n", ord("\t"): "\t", 0x200D: "\u200d"})
_LINE = _Signs({0x200D: "\u200d"})


def visible(text: str) -> str:
    """A text of several lines, sign for sign: ``␛`` for an escape; line breaks and tabs stay, and so does what joins emoji."""
    return text if text.isprintable() else text.replace("\r\n", "\n").translate(_BLOCK)


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """A text that has one line: line breaks and tabs become signs too (``␊``), and what is longer than ``longest`` ends in ``…``."""
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return text if text.isprintable() else text.translate(_LINE)


def bounded(text: str, *, lines: int = 2000, width: int = 400) -> str:
    """``visible``, no more of it than a screen can draw at once: longer lines end in ``…``, and how many are left out is said."""
    found = visible(text).split("\n")
    shown = [line if len(line) <= width else line[: width - 1] + "…" for line in found[:lines]]
    return "\n".join([*shown, *([f"… {len(found) - lines} more lines"] if len(found) > lines else [])])
