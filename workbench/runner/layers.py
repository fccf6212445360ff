"""The layers of isolation by name: what each is for. A layer that a machine lacks is named in every verdict and by ``doctor``.

Standard library only; both sides import it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

USERS = "user namespace"
PROCESSES = "pid namespace"
NETWORK = "network namespace"
MOUNTS = "mount namespace"
MESSAGES = "ipc namespace"
VIEW = "read-only files"
SPACE = "scratch limit"
FILES = "landlock"
SIGNALS = "landlock signals"
PRIVILEGES = "no new privileges"
COUNT = "process limit"
THREAD = "single thread"

LAYERS: Mapping[str, str] = {
    USERS: "no root inside, and what the other namespaces need",
    PROCESSES: "everything a program starts ends with its run",
    NETWORK: "a program reaches no network",
    MOUNTS: "a program sees no other process in /proc and shares no /dev/shm",
    MESSAGES: "a program leaves no shared memory segment or message queue behind",
    VIEW: "a program changes no mode, time or attribute of a file, and reaches no service through a socket in /run",
    SPACE: "the kernel bounds what a program writes; without it the watch ends the run some moments later",
    FILES: "a program writes nothing but its scratch and reads no private files",
    SIGNALS: "a program signals no process outside its run",
    PRIVILEGES: "a program gains no privileges from setuid files",
    COUNT: "the kernel stops a fork bomb; without it the watch ends the run some milliseconds later",
    THREAD: "the server forks with one thread; with more a child can hang",
}
"""Name and what is lost without it."""

OF_SERVERS = frozenset({USERS, PROCESSES, THREAD})
"""Layers that a server takes on or not; the others can be left out run by run (``Request.options["without"]``)."""

VARIABLE = "WORKBENCH_WITHOUT"
"""Environment variable with the names of layers not to use, separated by commas."""


def switched_off() -> frozenset[str]:
    """Layers that the environment asks to do without; unknown names are ignored here and refused by the host."""
    return frozenset(name.strip() for name in os.environ.get(VARIABLE, "").split(",")) & LAYERS.keys()
