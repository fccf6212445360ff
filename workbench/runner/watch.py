"""The server's eye on the one run it has: wall clock, memory and number of processes of the whole tree, and its end.

Reads /proc only. A run is over when no process of it is left.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import time
from typing import Any

from . import wire
from .protocol import Limits

INTERVAL = 0.05
"""Seconds between looks; a process that touches pages as fast as it can gains some 150 MB in it."""

PROCESSES = 512
"""Processes of one run at once; a compile needs five."""

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every orphan below this process (Linux), so that none escapes ``until_gone``."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def until_gone(connection: socket.socket, pid: int, status: int, limits: Limits) -> dict[str, Any]:
    """Wait for the run whose first process is ``pid``; kill all of it when it breaks a limit or the host goes away."""
    started = time.monotonic()
    speaker = connection.fileno()
    peak, ended, said = 0, "exited", b""
    while True:
        ready, _, _ = select.select([status, speaker], [], [], INTERVAL)
        if status in ready:
            part = os.read(status, 65536)
            if not part:
                break
            said += part
        if speaker in ready:  # the host never speaks during a run: it is gone or has given up
            end_all()
            raise wire.Closed
        if time.monotonic() - started > limits.seconds:
            ended = "timeout"
            break
        memory, count = usage(descendants(os.getpid()))
        peak = max(peak, memory)
        if memory > limits.memory_mb:
            ended = "memory"
            break
        if count > PROCESSES:
            ended = "processes"
            break
    os.close(status)
    end_all()
    return {"how": ended, "rss_mb": peak, "seconds": time.monotonic() - started, "growth_mb": 0, "missing": [], "detail": ""}


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``, nearest first."""
    found: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{parent}/task")
        except OSError:
            continue
        for task in tasks:
            try:
                with open(f"/proc/{parent}/task/{task}/children") as file:
                    children = [int(word) for word in file.read().split()]
            except OSError:
                continue
            found += children
            queue += children
    return found


def usage(pids: list[int]) -> tuple[int, int]:
    """Resident memory in MB that these processes own (file pages aside), and how many they are."""
    kilobytes = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/status") as file:
                for line in file:
                    if line.startswith(("RssAnon:", "RssShmem:")):
                        kilobytes += int(line.split()[1])
        except OSError:
            continue
    return kilobytes // 1024, len(pids)


def end_all() -> None:
    """Kill and reap every process below this one; returns when none is left."""
    while True:
        for pid in descendants(os.getpid()):
            _kill(pid, signal.SIGSTOP)  # a stopped process forks no more
        for pid in descendants(os.getpid()):
            _kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return
