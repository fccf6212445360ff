"""Landlock: from here on this process and all it starts can open only what lies beneath the given folders and files.

Kernel 5.13 and newer; scoped signals need ABI 6 (kernel 6.12).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from . import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that may stand in a rule for something that is no folder."""

_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_SCOPE_SIGNAL, _SCOPE_ABSTRACT_SOCKETS = 2, 1


def abi() -> int:
    """The version that this kernel offers; 0: none."""
    try:
        return kernel.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], *, files: bool = True, signals: bool = True) -> None:
    """Restrict this process for good. Paths that do not exist are passed over. OSError when the kernel cannot do what is asked.

    files:   only what is readable or writable can be opened
    signals: only processes restricted together can be signalled
    """
    version = abi()
    handled = _RIGHTS_BY_ABI[min(version, 5)] if files else 0
    scoped = _SCOPE_SIGNAL | _SCOPE_ABSTRACT_SOCKETS if signals else 0
    attribute = struct.pack("<QQQ", handled, 0, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    ruleset = kernel.syscall(_CREATE, attribute, ctypes.c_size_t(len(attribute)), ctypes.c_uint32(0))
    try:
        if files:
            for path in readable:
                _allow(ruleset, path, READ & handled)
            for path in writable:
                _allow(ruleset, path, handled)
        kernel.syscall(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
                rights &= ON_FILES
            rule = struct.pack("<Qi", rights, descriptor)
            kernel.syscall(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
        finally:
            os.close(descriptor)
