"""The shelf of precompiled headers (some 150 MB each): what is cut is thrown away, what nobody has used for long goes when it grows too large.

Every server holds the shelf in use while it lives; only a server that finds it free takes headers off.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator

LIMIT = 2 << 30
"""Bytes of headers that stay; each torch, compiler and set of flags has its own."""

BUILT = (".gch", ".pch")
MARK = ".whole"
"""Ending of the empty file beside a header that was built to its end. Its time is when the header was last used."""

_held: list[int] = []


def hold(root: str, folder: str) -> None:
    """Keep the headers in ``folder`` in use for as long as this process lives, after tidying up where nobody else does. Never raises."""
    with contextlib.suppress(OSError):
        descriptor = os.open(os.path.join(root, "in-use"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _held.append(descriptor)
        if _locked(descriptor):
            tidy(root, folder)
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        remove_cut(folder)


def mark(header: str) -> None:
    """Note that a header is whole and used now."""
    with contextlib.suppress(OSError), open(header + MARK, "w"):
        os.utime(header + MARK)


def remove_cut(folder: str) -> None:
    """Remove headers whose build was killed: not marked whole, and nobody holds the lock under which torch builds them.

    A compiler would stumble over such a header in every compile from then on.
    """
    for header in _headers(folder):
        if os.path.exists(header + MARK):
            continue
        name = os.path.basename(header).removesuffix(".h")
        with contextlib.suppress(OSError):
            os.makedirs(os.path.join(folder, "locks"), exist_ok=True)
            descriptor = os.open(os.path.join(folder, "locks", f"{name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if _locked(descriptor) and not os.path.exists(header + MARK):
                    _remove(header, BUILT)  # the text stays: who has just finished building compiles on, only slower
            finally:
                os.close(descriptor)


def tidy(root: str, folder: str, limit: int = LIMIT) -> None:
    """Remove headers that were used longest ago until the rest is within ``limit``, and temporary folders of servers that were killed."""
    left = limit
    for header in sorted(_headers(folder), key=_last_use, reverse=True):
        left -= sum(os.path.getsize(header + ending) for ending in BUILT if os.path.exists(header + ending))
        if left < 0:
            _remove(header)
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(root)):
            if entry.name.startswith("tmp"):
                shutil.rmtree(entry.path, ignore_errors=True) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)


def _headers(folder: str) -> Iterator[str]:
    """Paths ``….h`` of the headers that have something built."""
    with contextlib.suppress(OSError):
        for name in sorted({name.removesuffix(ending) for name in os.listdir(folder) for ending in BUILT if name.endswith(ending)}):
            yield os.path.join(folder, name)


def _last_use(header: str) -> float:
    try:
        return os.path.getmtime(header + MARK)
    except OSError:
        return 0.0


def _remove(header: str, endings: tuple[str, ...] = (*BUILT, MARK, "")) -> None:
    for ending in endings:
        with contextlib.suppress(OSError):
            os.unlink(header + ending)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
