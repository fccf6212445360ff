"""A server: warms up, then forks one child per request and watches it, until the host's end of the socket closes.

Runs with one thread and forks only; what a child does cannot reach it. Whatever happens to the host, no child outlives this loop.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import sys
from dataclasses import asdict
from typing import Any

from . import family, kernel, namespaces, spawn, table, watch, wire
from .layers import LAYERS, OF_SERVERS, PROCESSES, THREAD, USERS, switched_off
from .protocol import Request
from .warden import Nest, Warden


def serve(descriptor: int) -> None:
    """Serve requests from the socket ``descriptor`` until it closes; never returns in a child."""
    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    folder = os.getcwd()
    _die_with(connection)
    try:
        Server(connection).loop()
    except wire.Closed:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)  # a host that was killed cannot


class Server:
    """One warm process and its warden."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._spawns = ""
        self._layers = (LAYERS.keys() if sys.platform == "linux" else {THREAD}) - switched_off()
        needed = [path for path in (sys.executable, os.getcwd(), *sys.path) if os.access(path, os.R_OK)]
        if USERS in self._layers and not namespaces.become_nobody(needed):
            self._layers -= {USERS}
        self._warden = Warden(self._layers, connection) if PROCESSES in self._layers else None  # while this process is small

    def loop(self) -> None:
        """Warm up, tell the host, serve."""
        facts = _warm_up()
        _stop_dying_with(self._connection)
        self._spawns = facts["start"] = "" if "failed" in facts else spawn.why()
        wire.send_json(self._connection, facts)
        if "failed" in facts:
            return
        if len(facts["threads"]) != 1 and not self._spawns:
            self._layers -= {THREAD}
        family.adopt_orphans()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # no child looks into this process
        weight = table.resident_mb([os.getpid()])
        while True:
            request, ends = self._next()
            report = self._run(request, *ends)
            growth = table.resident_mb([os.getpid()]) - weight
            wire.send_json(self._connection, asdict(report) | {"growth_mb": growth})

    def _next(self) -> tuple[Request, list[int]]:
        """In a function of its own: the frames of a child hold no copy of the message, and so of its token."""
        body, descriptors = wire.receive(self._connection, 2)
        return Request.from_bytes(body), descriptors

    def _run(self, request: Request, result: int, output: int) -> watch.Report:
        """One request, one child; what became of it."""
        from . import entry, headers, sandbox

        settings = headers.needed(request) if sys.platform == "linux" else {}
        if settings:
            watch.wait_for(self._fork(lambda _: headers.build(settings)), headers.SECONDS)
        status, status_end = os.pipe()

        def child(nest: Nest | None) -> None:
            os.close(status)
            left_out = set(request.options.get("without", ())) - OF_SERVERS
            sandbox.enter(request, self._layers - left_out, nest, status_end, (result, output))
            if self._spawns:
                spawn.become(request, result, output)
            entry.run(request, result, output)

        relatives = self._fork(child)
        for end in (result, output, status_end):
            os.close(end)
        return watch.until_gone(self._connection, relatives, status, request)

    def _fork(self, child: Any) -> family.Family:
        """Fork into a nest when there are nests; the child calls ``child(nest)`` and ends."""
        nest = self._warden.nest() if self._warden else None
        if nest:
            nest.aim()
        pid = os.fork()
        if pid == 0:
            try:
                self._connection.close()
                if self._warden:
                    self._warden.release()
                child(nest)
            finally:
                os._exit(70)
        return family.Family(pid, self._warden.pid if self._warden else 0, nest)


def _warm_up() -> dict[str, Any]:
    from . import entry, headers, sandbox, warmup  # noqa: F401 - imported here, not once a child

    try:
        facts = warmup.prepare()
        from . import child  # noqa: F401 - the same; it needs torch

        return facts
    except BaseException as error:
        lines = str(error).strip().splitlines() or [""]
        return {"failed": f"{type(error).__name__}: {lines[-1]}"}


def _die_with(connection: socket.socket) -> None:
    """Until serving starts, let the kernel end this process when the host goes: imports take seconds and look at no socket.

    (PR_SET_PDEATHSIG does not serve: it fires when the host's *thread* ends that started us.)
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)


def _stop_dying_with(connection: socket.socket) -> None:
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) & ~os.O_ASYNC)
