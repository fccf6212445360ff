"""What runs and how long it takes, for a person who waits: live on a terminal's stderr, and as one line with the verdict."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Steps:
    """Hears of the runs of one file. ``live``: a rich status that shows the run under way, and a line for each that has ended."""

    def __init__(self, live: Any = None) -> None:
        self._live = live
        self._seconds: dict[str, list[float]] = {}

    def tell(self, step: str, seconds: float | None) -> None:
        """``step`` begins (seconds None) or has taken that long."""
        if seconds is not None:
            self._seconds.setdefault(step, []).append(seconds)
        if self._live is None:
            return
        if seconds is None:
            self._live.update(f"{step} ...")
        else:
            self._live.console.print(f"  {step}: {seconds:.1f} s", highlight=False)

    def line(self) -> str:
        """``eager 0.3 s (2 runs), compiled (inductor) 4.1 s``; empty when nothing ran."""
        told = []
        for step, each in self._seconds.items():
            told.append(f"{step} {sum(each):.1f} s" + (f" ({len(each)} runs)" if len(each) > 1 else ""))
        return ", ".join(told)


@contextmanager
def live(*, wanted: bool) -> Iterator[Any]:
    """A status line on stderr when that is a terminal, else None."""
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting a server ...") as status:
        yield status
