"""Scratch of this host process: one folder, locked while the process lives; what dead ones left is removed at the next start."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from workbench.errors import RunnerError


class Scratch:
    """A private folder under the temp directory; ``folder()`` makes one in it, ``close`` removes it all."""

    def __init__(self) -> None:
        home = _home()
        _sweep(home)
        self._lock: int | None = None
        while self._lock is None:  # None: another host's sweep was quicker
            self.root = Path(tempfile.mkdtemp(prefix="host-", dir=home))
            self._lock = _locked(self.root)

    def folder(self, kind: str) -> Path:
        """A new, empty folder that only this user can enter."""
        return Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=self.root))

    def close(self) -> None:
        """Remove everything; safe to call twice."""
        remove(self.root)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove(folder: Path) -> None:
    """Remove a folder whatever a program did to its modes and depth; never follows links."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        subprocess.run(["chmod", "-R", "u+rwx", "--", str(folder)], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=False, capture_output=True)


def _home() -> Path:
    """The folder of all hosts of this user; refuses one that somebody else prepared."""
    home = Path(tempfile.gettempdir()) / f"torch-compile-workbench-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        home.mkdir(mode=0o700)
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise RunnerError(f"{home}: not a folder of yours alone", "remove it, or set TMPDIR to a folder of your own")
    return home


def _locked(root: Path) -> int | None:
    descriptor = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _sweep(home: Path) -> None:
    """Remove the folders of hosts that are dead: those whose lock can be had, and old ones without a lock."""
    for root in home.glob("host-*"):
        try:
            if not (root / "lock").exists() and time.time() - root.stat().st_mtime < 60:
                continue  # its host is about to lock it
            descriptor = _locked(root)
        except OSError:
            continue
        if descriptor is not None:
            remove(root)
            os.close(descriptor)
