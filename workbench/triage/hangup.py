"""A terminal that went away. Without a controlling terminal nobody sends SIGHUP, and Textual's input thread then reads the end for ever."""

from __future__ import annotations

import os
import select
from typing import IO

WATCH_SECONDS = 1.0
"""How often it is looked at."""


def terminal_of(stream: IO[str] | None) -> int | None:
    """The descriptor of the terminal behind this stream; None where it is none (a pipe, a browser's screen, a test)."""
    try:
        number = stream.fileno() if stream is not None else None
    except (OSError, ValueError):
        return None
    return number if number is not None and os.isatty(number) else None


def hung_up(terminal: int) -> bool:
    """Whether the other side of this terminal is closed."""
    watch = select.poll()
    watch.register(terminal, 0)  # hang-up and error are reported whatever is asked for
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in watch.poll(0))
