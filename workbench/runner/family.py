"""The processes of one run, seen from outside: all of them, and their end."""

from __future__ import annotations

import os
import signal
import time

from . import kernel
from .table import children, descendants
from .warden import Nest


class Family:
    """Everything that one fork of the server has become.

    child:  the process that the server forked
    warden: the server's warden, which is not part of any run; 0: there is none
    nest:   where they live; None: wherever, and orphans come to the server (``adopt_orphans``)
    """

    def __init__(self, child: int, warden: int, nest: Nest | None) -> None:
        self.child = child
        self._warden = warden
        self._nest = nest

    def processes(self) -> list[int]:
        """All that live. Orphans are found below their new parent: init, or the server."""
        found = self._below_server()
        for keeper in children(self._warden) if self._warden else []:
            for init in children(keeper):
                found += descendants(init)
        return found

    def end(self) -> None:
        """Kill and reap all of them; returns when none is left."""
        if self._nest is not None:
            self._nest.drop()
        while left := [pid for pid in children(os.getpid()) if pid != self._warden]:
            for number in (signal.SIGSTOP, signal.SIGKILL):  # a stopped process forks no more
                for pid in self._below_server():
                    kill(pid, number)
            for pid in left:
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.0005)
        if self._nest is not None:
            self._nest.wait()

    def _below_server(self) -> list[int]:
        first = [pid for pid in children(os.getpid()) if pid != self._warden]
        return [*first, *(pid for parent in first for pid in descendants(parent))]


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process, so that none escapes a family's end."""
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)


def kill(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return
