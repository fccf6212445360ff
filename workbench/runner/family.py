"""The processes of one run, as /proc shows them from outside: all of them, what they use, and their end."""

from __future__ import annotations

import os
import signal
import time

from . import kernel
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


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``, parents before their children."""
    found: list[int] = []
    queue = [pid]
    while queue:
        below = children(queue.pop())
        found += below
        queue += below
    return found


def children(pid: int) -> list[int]:
    """The processes whose parent is ``pid``; none when it has ended."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:  # it has just ended
        pass
    return found


def resident_mb(pids: list[int]) -> int:
    """Resident memory that these processes own, file pages aside; what they share by fork counts for each."""
    return sum(_resident_kb(pid) for pid in pids) // 1024


def kill(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _resident_kb(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/status") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssShmem:")))
    except OSError:
        return 0
