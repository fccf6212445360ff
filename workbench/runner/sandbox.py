"""The layers of isolation that a child takes on between its fork and its program. What a layer cannot do here is reported, never hidden."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import stat
from collections.abc import Collection

from . import kernel, landlock, namespaces, places, view
from .layers import COUNT, FILES, LAYERS, MESSAGES, MOUNTS, NETWORK, PRIVILEGES, PROCESSES, SIGNALS, SPACE, USERS, VIEW
from .protocol import Request
from .warden import PROCESS_LIMIT, Nest


def enter(request: Request, layers: Collection[str], nest: Nest | None, status: int, keep: Collection[int]) -> None:
    """Take on the layers for good; one JSON object on ``status`` says which are missing, or why there is no sandbox (then OSError).

    Of the server's open files only ``keep`` and the standard streams stay open.
    """
    try:
        _let_go({0, 1, 2, status, *keep, *(nest.descriptors() if nest else ())})
        _tell(status, {"missing": _take_on(request, set(layers), nest)})
    except OSError as error:
        _tell(status, {"failed": str(error)})
        raise
    finally:
        os.close(status)


def _let_go(keep: Collection[int]) -> None:
    """Close the files, folders, pipes and sockets that the fork brought along: what is open is beyond every other layer. Devices stay."""
    for name in os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"):
        with contextlib.suppress(OSError):
            mode = os.fstat(int(name)).st_mode
            if int(name) not in keep and not stat.S_ISCHR(mode):
                os.close(int(name))


def _take_on(request: Request, have: set[str], nest: Nest | None) -> list[str]:
    os.setsid()
    if nest is None:
        have -= {PROCESSES, MOUNTS} | namespaces.unshare(have & {NETWORK, MESSAGES})
    else:
        have -= nest.refused
        nest.enter(have)
    have -= view.take_on(request, have & {VIEW, SPACE}) if MOUNTS in have else {VIEW, SPACE}
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    _limit(request, have, counted=nest is not None and nest.counted)
    kernel.drop_capabilities()
    if PRIVILEGES in have:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    have -= _landlock(request, have)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # the server, which is not, cannot be looked into
    return [layer for layer in LAYERS if layer not in have]


def _limit(request: Request, have: set[str], *, counted: bool) -> None:
    """Resource limits. The number of processes only where the count is this server's alone: elsewhere it is all that the user runs."""
    largest = request.limits.file_mb << 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # when the machine runs out of memory, this goes first
    if COUNT in have and USERS in have:
        resource.setrlimit(resource.RLIMIT_NPROC, (PROCESS_LIMIT, PROCESS_LIMIT))
    binds = USERS in have and not namespaces.is_root()
    if not counted and not binds:
        have.discard(COUNT)


def _landlock(request: Request, have: set[str]) -> set[str]:
    """Take on Landlock's layers; those that this kernel refuses."""
    wanted = have & {FILES, SIGNALS}
    version = landlock.abi()
    possible = {layer for layer in wanted if version >= (1 if layer == FILES else 6)}
    if possible:
        readable, writable = places.readable(request, have), places.writable(request, have)
        try:
            landlock.restrict(readable, writable, files=FILES in possible, signals=SIGNALS in possible)
        except OSError:
            return wanted
    return wanted - possible


def _tell(status: int, fact: dict[str, object]) -> None:
    os.write(status, json.dumps(fact).encode())
