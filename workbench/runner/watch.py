"""The server's eye on the one run it has: wall clock, memory, files and number of processes of the whole family, and its end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from . import kernel, wire
from .family import Family
from .holdings import Holdings
from .protocol import Limits, Request
from .table import resident_mb

INTERVAL = 0.05
"""Seconds between looks; a process that touches pages as fast as it can gains some 150 MB in it."""

PROCESSES = 600
"""Processes of one run at once, where the kernel does not count them."""


@dataclass(slots=True)
class Report:
    """How a run ended, for the host.

    how:     exited | timeout | memory | disk | processes | sandbox
    missing: isolation layers that the run did without
    detail:  one sentence for people, empty when all is well
    """

    how: str = "exited"
    rss_mb: int = 0
    seconds: float = 0.0
    missing: list[str] = field(default_factory=list)
    detail: str = ""


def until_gone(connection: socket.socket, family: Family, status: int, request: Request) -> Report:
    """Wait for the run's child; end the whole family then, or when it breaks a limit, or when the host goes away (Closed)."""
    started = time.monotonic()
    report = Report()
    holdings = Holdings(request.scratch)
    code: int | None = None
    ended = kernel.pidfd(family.child)
    watched = [connection.fileno(), *([] if ended is None else [ended])]
    try:
        while code is None and report.how == "exited":
            ready, _, _ = select.select(watched, [], [], INTERVAL if ended is not None else INTERVAL / 10)
            if connection.fileno() in ready:  # the host never speaks during a run: it is gone or has given up
                raise wire.Closed
            code = _exit_code(family.child)
            if code is None:
                _enforce(report, request.limits, family.processes(), holdings, time.monotonic() - started)
    finally:
        if ended is not None:
            os.close(ended)
        family.end()
    report.seconds = time.monotonic() - started
    with open(status, "rb") as said:
        _understand(report, said.read(), code)
    return report


def wait_for(family: Family, seconds: float) -> None:
    """Wait for a child of ours that runs no program; end it and what it started after ``seconds``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and _exit_code(family.child) is None:
        time.sleep(0.01)
    family.end()


def _exit_code(pid: int) -> int | None:
    found, how = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(how) if found else None


def _enforce(report: Report, limits: Limits, processes: list[int], holdings: Holdings, elapsed: float) -> None:
    memory = resident_mb(processes) + holdings.in_memory_mb(processes)
    report.rss_mb = max(report.rss_mb, memory)
    if elapsed > limits.seconds:
        report.how, report.detail = "timeout", f"longer than {limits.seconds:g} s"
    elif memory > limits.memory_mb:
        report.how, report.detail = "memory", f"{memory} MB resident, more than {limits.memory_mb} MB"
    elif holdings.on_disk_mb() > limits.scratch_mb:
        report.how, report.detail = "disk", f"its files together have more than {limits.scratch_mb} MB, or are too many"
    elif len(processes) > PROCESSES:
        report.how, report.detail = "processes", f"more than {PROCESSES} processes at once"


def _understand(report: Report, said: bytes, code: int | None) -> None:
    """Take over what the sandbox said of itself and how the child ended."""
    facts: dict[str, Any] = json.loads(said) if said else {"failed": "its process died"}
    report.missing = facts.get("missing", [])
    if code is None:  # a limit ended it
        return
    if "failed" in facts:
        report.how, report.detail = "sandbox", f"the sandbox could not be set up: {facts['failed']}"
    elif code < 0:
        report.detail = f"ended by {signal.Signals(-code).name}"
    elif code:
        report.detail = f"ended with exit code {code} before its result"
