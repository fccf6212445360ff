"""The machine's processes: who started whom and what memory each owns. From /proc; where there is none (macOS), from ``ps``."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

PROC = "/proc"


def children(pid: int) -> list[int]:
    """The processes whose parent is ``pid``; none when it has ended."""
    if not os.path.isdir(f"{PROC}/self/task"):
        return [row[0] for row in _listed() if row[1] == pid]
    found: list[int] = []
    try:
        for task in os.listdir(f"{PROC}/{pid}/task"):
            with open(f"{PROC}/{pid}/task/{task}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:  # it has just ended
        pass
    return found


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``, parents before their children."""
    below = children if os.path.isdir(f"{PROC}/self/task") else _children_at_once()
    found: list[int] = []
    queue = [pid]
    while queue:
        next_ones = below(queue.pop())
        found += next_ones
        queue += next_ones
    return found


def resident_mb(pids: list[int]) -> int:
    """Resident memory that these processes own, file pages aside; what they share by fork counts for each. ``ps`` counts file pages too."""
    if not os.path.isdir(f"{PROC}/self/task"):
        return sum(row[2] for row in _listed() if row[0] in pids) // 1024
    return sum(_resident_kb(pid) for pid in pids) // 1024


def _resident_kb(pid: int) -> int:
    try:
        with open(f"{PROC}/{pid}/status") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon:", "RssShmem:")))
    except OSError:
        return 0


def _children_at_once() -> Callable[[int], list[int]]:
    """``children`` from one look, so that a tree of many costs one ``ps``."""
    rows = _listed()

    def below(pid: int) -> list[int]:
        return [row[0] for row in rows if row[1] == pid]

    return below


def _listed() -> list[tuple[int, int, int]]:
    """(pid, parent, resident KB) of every process but the ``ps`` that tells."""
    with subprocess.Popen(["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "rss="], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as ps:
        assert ps.stdout is not None
        lines = ps.stdout.read().decode(errors="replace").splitlines()
    rows = []
    for line in lines:
        words = line.split()
        if len(words) == 3 and all(word.isdecimal() for word in words) and int(words[0]) != ps.pid:
            rows.append((int(words[0]), int(words[1]), int(words[2])))
    return rows
