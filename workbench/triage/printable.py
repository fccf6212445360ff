"""The last guard before the terminal: whatever a widget drew, no character that a terminal acts on leaves the app."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_JOINER = "\u200d"
"""Joins emoji into one; the terminal has to see it, or the line is longer than it was counted."""


class Printable(LineFilter):
    """Takes control characters, escapes and marks of direction out of every line drawn, keeping its width."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, harmless. Texts say with signs what was there (``store.plain``); this is for those that forgot to."""
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [Segment(_harmless(text), style, control) for text, style, control in segments]


def _harmless(text: str) -> str:
    return "".join(ch if ch.isprintable() or ch == _JOINER else " " * cell_len(ch) for ch in text)
