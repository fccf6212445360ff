"""A server: warms up, then forks one child per request and watches it, until the host's end of the socket closes.

Runs with one thread and forks only; what a child does cannot reach it. Whatever happens to the host, no child outlives this loop.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
from typing import Any

from . import sandbox, watch, wire
from .protocol import Request


def serve(descriptor: int) -> None:
    """Serve requests from the socket ``descriptor`` until it closes; never returns in a child."""
    connection = socket.socket(fileno=descriptor)
    connection.set_inheritable(False)
    _die_with(connection)
    try:
        facts = _prepare()
        _stop_dying_with(connection)
        wire.send_json(connection, facts)
        if "failed" in facts:
            return
        watch.adopt_orphans()
        while True:
            body, descriptors = wire.receive(connection, 2)
            report = _run(connection, body, descriptors)
            wire.send_json(connection, report)
    except wire.Closed:
        return


def _prepare() -> dict[str, Any]:
    from . import warmup

    try:
        return warmup.prepare()
    except BaseException as error:
        return {"failed": f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[-1]}"}


def _run(connection: socket.socket, body: bytes, descriptors: list[int]) -> dict[str, Any]:
    """One request, one child; what became of it."""
    request = Request.from_bytes(body)
    result, output = descriptors
    status, status_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        connection.close()
        os.close(status)
        sandbox.enter(body, request, result, output, status_end)
    for end in (result, output, status_end):
        os.close(end)
    return watch.until_gone(connection, pid, status, request.limits)


def _die_with(connection: socket.socket) -> None:
    """Until serving starts, let the kernel end this process when the host goes: imports take seconds and look at no socket.

    (PR_SET_PDEATHSIG does not serve: it fires when the host's *thread* ends that started us.)
    """
    if hasattr(fcntl, "F_SETOWN") and hasattr(os, "O_ASYNC"):
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)


def _stop_dying_with(connection: socket.socket) -> None:
    if hasattr(os, "O_ASYNC"):
        fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) & ~os.O_ASYNC)
