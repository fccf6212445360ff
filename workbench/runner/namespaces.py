"""Namespaces: users for a whole server, processes, network and mounts for one run. What this kernel refuses is said, never hidden."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import struct
from collections.abc import Collection

from . import kernel
from .layers import MESSAGES, MOUNTS, NETWORK, PROCESSES

NOBODY = 65534

FLAGS = {PROCESSES: kernel.CLONE_NEWPID, NETWORK: kernel.CLONE_NEWNET, MOUNTS: kernel.CLONE_NEWNS, MESSAGES: kernel.CLONE_NEWIPC}
FILES = {PROCESSES: "pid_for_children", NETWORK: "net", MOUNTS: "mnt", MESSAGES: "ipc"}
"""Name under ``/proc/self/ns`` of each."""


def become_nobody(needed: Collection[str]) -> bool:
    """Enter a new user namespace as nobody, whoever we were: root could read other processes' environments, and no limit binds it.

    Tried in a fork first, since there is no way back: only when the namespace can be had and everything in ``needed`` stays readable there.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        with contextlib.suppress(OSError):
            _new_user()
            kernel.drop_capabilities()
            code = 0 if all(os.access(path, os.R_OK) for path in needed) else 1
        os._exit(code)
    if os.waitpid(pid, 0)[1]:
        return False
    _new_user()
    with contextlib.suppress(OSError):  # a program cannot regain capabilities in a user namespace of its own
        _write("/proc/sys/user/max_user_namespaces", "0")
    return True


def unshare(wanted: Collection[str]) -> set[str]:
    """Enter those of the namespaces of one run that are wanted, the PID namespace with the next fork; the layers that were refused."""
    refused: set[str] = set()
    for layer, flag in FLAGS.items():
        if layer in wanted:
            try:
                kernel.unshare(flag)
            except OSError:
                refused.add(layer)
    if NETWORK in set(wanted) - refused:
        with contextlib.suppress(OSError):
            _loopback_up()
    return refused


def furnish() -> None:
    """As first process of a new PID namespace in a new mount namespace: a /proc that shows this run only, an empty /dev/shm. OSError."""
    safe = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("none", "/", "none", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", safe)
    if os.path.isdir("/dev/shm"):
        kernel.mount("tmpfs", "/dev/shm", "tmpfs", safe, "size=1g,mode=1777")
    with contextlib.suppress(OSError):  # of the IPC namespace where there is one; segments that nobody maps count for nobody
        _write("/proc/sys/kernel/shmall", str((1 << 30) // os.sysconf("SC_PAGE_SIZE")))


def is_root() -> bool:
    """Whether nobody here is root outside, whom no process limit binds."""
    try:
        with open("/proc/self/uid_map") as file:
            return any(int(line.split()[1]) == 0 for line in file)
    except OSError:
        return os.geteuid() == 0


def limit_pids(count: int) -> bool:
    """Let the kernel refuse more than ``count`` processes in this PID namespace.

    Only where ``pid_max`` belongs to the namespace (kernel 6.14): before that, root inside would change it for the whole machine.
    """
    release = tuple(int(part) for part in re.findall(r"\d+", os.uname().release)[:2])
    if release < (6, 14):
        return False
    try:
        _write("/proc/sys/kernel/pid_max", str(count))
    except OSError:
        return False
    return True


def _new_user() -> None:
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{NOBODY} {group} 1")


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
