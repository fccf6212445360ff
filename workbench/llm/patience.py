"""How long a call is waited for, whatever the other side does: it runs on a thread of its own, which is left behind when time is up.

The timeouts of HTTP are for each read: an endpoint that sends a byte now and then would keep a caller for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

LEAVE = 0.7
"""Seconds that a call which is under way when the command ends may still take: its answer is paid for."""
_LOOK = 0.2


class LeftError(Exception):
    """The command ended first."""


def within(call: Callable[[], Any], seconds: float, stop: threading.Event) -> Any:
    """What ``call`` returns or raises; TimeoutError after so many seconds, LeftError when ``stop`` is set meanwhile."""
    done = threading.Event()
    result: list[Any] = []
    raised: list[Exception] = []

    def run() -> None:
        try:
            result.append(call())
        except Exception as error:
            raised.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="llm-call", daemon=True).start()
    left = seconds
    while not done.wait(min(_LOOK, max(0.0, left))):
        left -= _LOOK
        if stop.is_set() and not done.wait(LEAVE):
            raise LeftError
        if left <= 0 and not done.is_set():
            raise TimeoutError
    if raised:
        raise raised[0]
    return result[0]
