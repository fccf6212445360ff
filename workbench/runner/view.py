"""The files as one run sees them, in a mount namespace of its own: everything read-only but its scratch, which has a size.

Landlock decides what can be opened; modes, times, attributes and sockets are beyond it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection

from . import kernel
from .layers import SPACE, VIEW
from .protocol import Request

SERVICES = "/run"
"""Where services keep their sockets: a socket that can be named can be connected to, whatever is read-only."""

KEPT = ("current-system", "opengl-driver")
"""Of it, what holds programs and libraries."""

FILES_AT_ONCE = 200_000


def take_on(request: Request, wanted: Collection[str]) -> set[str]:
    """Take on the layers of files that are wanted, in a private mount namespace; those that this kernel refuses."""
    refused: set[str] = set()
    if VIEW in wanted:
        try:
            _freeze(request.scratch)
        except OSError:
            refused.add(VIEW)
    if SPACE in wanted:
        bounds = f"size={request.limits.scratch_mb}m,mode=700,nr_inodes={FILES_AT_ONCE}"
        try:
            kernel.mount("tmpfs", request.scratch, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, bounds)
        except OSError:
            refused.add(SPACE)
    return refused


def _freeze(scratch: str) -> None:
    kernel.mount(scratch, scratch, "none", kernel.MS_BIND)  # a mount of its own can stay writable
    kernel.set_readonly("/", readonly=True, beneath=True)
    for place in (scratch, "/proc", "/dev/shm"):  # the last two are this run's own
        with contextlib.suppress(FileNotFoundError):
            kernel.set_readonly(place, readonly=False)
    for place in _services():
        kernel.mount("none", place, "tmpfs", kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC, "size=4k,mode=755")


def _services() -> list[str]:
    """Folders to cover: all of /run, or what is beside programs there."""
    found = [place for place in (SERVICES, "/var/run", "/tmp/.X11-unix") if os.path.isdir(place) and not os.path.islink(place)]
    if any(os.path.exists(os.path.join(SERVICES, name)) for name in KEPT):
        beside = (os.path.join(SERVICES, name) for name in os.listdir(SERVICES) if name not in KEPT)
        found = [*found[1:], *(place for place in beside if os.path.isdir(place) and not os.path.islink(place))]
    return found
