"""What a run holds in files: in memory, where no process's own size shows it, and on disk. Seen from the server."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import deque
from collections.abc import Iterable

MEMORY_FOLDER = "/dev/shm"

ENTRIES = 200_000
"""Files and folders that are counted on disk; a run that has more has too many."""


class Holdings:
    """The files of one run. Asked over and over, so it looks at the disk only as often as that is cheap."""

    def __init__(self, scratch: str) -> None:
        self._scratch = scratch
        self._on_disk = 0
        self._next_look = 0.0

    def in_memory_mb(self, processes: Iterable[int]) -> int:
        """Files in the run's own memory file systems, and files without a name that its processes hold open (memfd, or deleted)."""
        pids = list(processes)
        own = next((size for pid in pids if (size := self._own_systems(pid))), 0)
        unnamed: dict[tuple[int, int], int] = {}
        for pid in pids:
            unnamed.update(_unnamed(pid))
        return (own + sum(unnamed.values())) >> 20

    def on_disk_mb(self) -> int:
        """Files in the scratch folder, as far as they lie on disk; more than ``ENTRIES`` of them weigh a terabyte."""
        started = time.monotonic()
        if started >= self._next_look:
            self._on_disk = _size(self._scratch) >> 20
            ended = time.monotonic()
            self._next_look = ended + max(0.2, 20 * (ended - started))
        return self._on_disk

    def _own_systems(self, pid: int) -> int:
        found = 0
        for folder in (self._scratch, MEMORY_FOLDER):
            with contextlib.suppress(OSError):
                inside = f"/proc/{pid}/root{folder}"
                if os.stat(inside).st_dev != os.stat(folder).st_dev:  # otherwise it is everybody's
                    system = os.statvfs(inside)
                    found += (system.f_blocks - system.f_bfree) * system.f_frsize
        return found


def _unnamed(pid: int) -> dict[tuple[int, int], int]:
    """Bytes of each regular file without a name that a process has open, by device and number."""
    found: dict[tuple[int, int], int] = {}
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                seen = os.stat(f"/proc/{pid}/fd/{number}")
                if stat.S_ISREG(seen.st_mode) and not seen.st_nlink:
                    found[seen.st_dev, seen.st_ino] = seen.st_blocks * 512
    return found


def _size(folder: str) -> int:
    total = count = 0
    queue = deque([folder])
    while queue:
        try:
            with os.scandir(queue.popleft()) as entries:
                for entry in entries:
                    count += 1
                    if count > ENTRIES:
                        return 1 << 40
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError:  # gone, not ours to read, or too deep for a path
            continue
    return total
