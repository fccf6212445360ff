"""The system calls that Python does not wrap, through ctypes; each raises OSError. Linux only.

The library is loaded at import, in the server, so that a forked child only calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_libc = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000


def prctl(option: int, value: int) -> None:
    """``prctl(option, value, 0, 0, 0)``; nothing on other kernels."""
    if sys.platform != "linux":
        return
    _check(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def unshare(flags: int) -> None:
    """New namespaces for this process (a new PID namespace: for its next child)."""
    _check(_libc.unshare(ctypes.c_int(flags)))


def setns(space: int, flags: int) -> None:
    """Enter the namespace behind the descriptor ``space`` (a PID namespace: for the next child)."""
    _check(_libc.setns(ctypes.c_int(space), ctypes.c_int(flags)))


def pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None on kernels before 5.3."""
    try:
        return syscall(434, ctypes.c_int(pid), ctypes.c_uint(0))
    except OSError:
        return None


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount ``source`` of file system ``kind`` on ``target``."""
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()))


def set_readonly(path: str, *, readonly: bool, beneath: bool = False) -> None:
    """Make a mount (and all beneath it) read-only or writable; kernel 5.12 and newer."""
    attributes = struct.pack("<QQQQ", readonly, not readonly, 0, 0)
    flags = ctypes.c_uint(0x8000 if beneath else 0)  # AT_RECURSIVE
    syscall(442, ctypes.c_int(-100), path.encode(), flags, attributes, ctypes.c_size_t(len(attributes)))


def drop_capabilities() -> None:
    """Give up every capability for good; no_new_privs keeps them away. Nothing on other kernels."""
    if sys.platform != "linux":
        return
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()))


def syscall(number: int, *arguments: object) -> int:
    """A raw system call; its result."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "these numbers are those of Linux")
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    return _check(result)


def flush_streams() -> None:
    """Write out what C code has buffered on stdout and stderr."""
    _libc.fflush(None)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
