"""The warden: a small process that a server forks before it imports torch, and that prepares an empty PID namespace for every run.

Forking costs by size: a server of 270 MB takes 20 ms of CPU a fork, the warden one. So the server forks once a run, into a namespace that
is ready; its first process, *init*, ends when the server closes the run's leash, and the kernel then kills all that is left in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Collection, Mapping
from typing import NoReturn

from . import kernel, namespaces
from .layers import COUNT, MESSAGES, MOUNTS, NETWORK, PROCESSES

PROCESS_LIMIT = 512
"""Processes and threads of one run at once; a compile needs five."""


class Nest:
    """Fresh namespaces for one run.

    refused: layers that this one lacks though they were wanted
    counted: whether the kernel bounds the number of its processes
    """

    def __init__(self, spaces: Mapping[str, int], leash: socket.socket, refused: Collection[str], *, counted: bool) -> None:
        self.refused = set(refused)
        self.counted = counted
        self._spaces = spaces
        self._leash = leash

    def descriptors(self) -> list[int]:
        """Open files that it needs until it is entered."""
        return [*self._spaces.values(), self._leash.fileno()]

    def aim(self) -> None:
        """In the server: the next fork is born in this PID namespace."""
        kernel.setns(self._spaces[PROCESSES], kernel.CLONE_NEWPID)

    def enter(self, wanted: Collection[str]) -> None:
        """In the fork: take on those of the other namespaces that are wanted, and let go of the leash."""
        for layer, space in self._spaces.items():
            if layer != PROCESSES and layer in wanted:
                kernel.setns(space, namespaces.FLAGS[layer])
            os.close(space)
        self._leash.close()

    def drop(self) -> None:
        """In the server: have the kernel kill everything inside. The server must reap its own child before ``wait``, for init waits for it."""
        for space in self._spaces.values():
            os.close(space)
        self._leash.shutdown(socket.SHUT_WR)

    def wait(self) -> None:
        """In the server: wait until nothing inside is left, not even init and its keeper."""
        while self._leash.recv(1):
            pass
        self._leash.close()


class Warden:
    """The server's end of the warden. Keeps one nest ready."""

    def __init__(self, layers: Collection[str], connection: socket.socket) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            connection.close()  # the host must see the server's end of it close
            _serve(theirs, set(layers) & {PROCESSES, NETWORK, MOUNTS, MESSAGES, COUNT})
        theirs.close()
        self._order()

    def nest(self) -> Nest | None:
        """The nest that is ready; None when this machine makes no PID namespaces. Orders the next one."""
        message, descriptors, _, _ = socket.recv_fds(self._socket, 4096, 8)
        if not message:
            raise ConnectionResetError("the warden is gone")
        facts = json.loads(message)
        if not descriptors:
            return None
        self._order()
        leash = socket.socket(fileno=descriptors.pop())
        return Nest(dict(zip(facts["spaces"], descriptors, strict=True)), leash, facts["refused"], counted=facts["counted"])

    def release(self) -> None:
        """In a fork of the server: close what it inherited of the warden."""
        self._socket.close()

    def _order(self) -> None:
        self._socket.send(b"nest")


def _serve(server: socket.socket, layers: set[str]) -> NoReturn:
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps keepers
        while server.recv(16):
            if os.fork() == 0:
                _keep(server, layers)
    finally:
        os._exit(0)


def _keep(server: socket.socket, layers: set[str]) -> NoReturn:
    """The keeper: parent of init outside the namespace; it ends after init, and the leash with it."""
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        refused = namespaces.unshare(layers)
        if PROCESSES in refused:
            server.send(json.dumps({"refused": sorted(refused)}).encode())
            os._exit(0)
        leash, theirs = socket.socketpair()
        init = os.fork()
        if init == 0:
            _init(server, layers - refused, refused, leash, theirs)
        leash.close()
        server.close()
        os.waitpid(init, 0)
    except OSError:
        server.send(json.dumps({"refused": sorted(layers)}).encode())
    finally:
        os._exit(0)


def _init(server: socket.socket, layers: set[str], refused: set[str], leash: socket.socket, theirs: socket.socket) -> NoReturn:
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans of the run are reaped unseen
        if MOUNTS in layers:
            try:
                namespaces.furnish()
            except OSError:
                refused |= {MOUNTS}
        counted = COUNT in layers and namespaces.limit_pids(PROCESS_LIMIT)
        spaces = [layer for layer in namespaces.FILES if layer in layers - refused]
        descriptors = [os.open(f"/proc/self/ns/{namespaces.FILES[layer]}", os.O_RDONLY | os.O_CLOEXEC) for layer in spaces]
        message = {"spaces": spaces, "refused": sorted(refused), "counted": counted}
        socket.send_fds(server, [json.dumps(message).encode()], [*descriptors, leash.fileno()])
        server.close()
        leash.close()
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(OSError):
            theirs.recv(1)
    except OSError:
        server.send(json.dumps({"refused": sorted(layers)}).encode())
    finally:
        os._exit(0)
