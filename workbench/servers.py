"""The host's side of the runner: a pool of warm servers, one run at a time on each, and a ``Run`` record for whatever comes back.

Never imports torch. A server that dies costs the one run it had; the next run gets a new server.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from store.records import JSON
from workbench import scratch
from workbench.connection import Ended, Server
from workbench.errors import RunnerError
from workbench.runner import layers, protocol

RUNS = 500
"""Runs after which a server is replaced."""

GROWTH_MB = 1024
"""Memory a server may gain before it is replaced."""


@dataclass(frozen=True, slots=True)
class Run:
    """What became of one request.

    status:   ok | timeout | memory | disk | died | forged | output. ``ok``: a whole document from this run's child. ``died``: the child or its
              server ended without one. ``forged``: what came back is no result of this run. ``output``: the result was too large
    document: the JSON part (runner/protocol.py), None unless ok
    blobs:    the tensor bytes that the document points into
    output:   the tail of stdout and stderr
    dropped:  bytes of output that were not kept
    seconds:  wall time in the server
    rss_mb:   largest resident memory seen, of the whole process tree
    missing:  isolation layers that this run did not have
    detail:   one sentence for people when the status is not ok
    """

    status: str
    document: dict[str, JSON] | None = None
    blobs: memoryview = field(default_factory=lambda: memoryview(b""))
    output: str = ""
    dropped: int = 0
    seconds: float = 0.0
    rss_mb: int = 0
    missing: tuple[str, ...] = ()
    detail: str = ""


class Pool:
    """Up to ``jobs`` servers, started when they are first needed; ``run`` may be called from any number of threads.

    python:  an interpreter that has torch; None: our own
    without: isolation layers not to use (runner/layers.py), besides those that WORKBENCH_WITHOUT names: for machines where one misbehaves
    """

    def __init__(self, *, python: str | None = None, jobs: int = 1, without: tuple[str, ...] = ()) -> None:
        self._python = python
        self._jobs = max(1, jobs)
        self._without = _known((*without, *filter(None, os.environ.get(layers.VARIABLE, "").split(","))))
        self._scratch = scratch.Scratch()
        self._changed = threading.Condition()
        self._idle: list[Server] = []
        self._all: set[Server] = set()
        self._closed = False
        self._facts: dict[str, JSON] = {}
        self._environment: dict[str, JSON] | None = None

    def run(self, request: protocol.Request) -> Run:
        """Run one request in a fresh child; waits for a free server. RunnerError when no server can be started."""
        server = self._take()
        try:
            run = self._run_on(server, request)
        except BaseException as error:
            self._drop(server)
            if self._closed and isinstance(error, OSError | ValueError):  # ``close`` took the descriptors away
                return Run("died", detail="the pool of servers was closed")
            raise
        if server.alive() and server.runs < RUNS and server.growth_mb < GROWTH_MB:
            self._give(server)
        else:
            self._drop(server)
        return run

    def environment(self) -> dict[str, JSON]:
        """What the servers run on, asked once: ``torch python capability threads compiler …`` (runner/environment.py).

        ``missing``: isolation layers; ``problem``: why the trivial kernel did not compile, or empty. ``start``: why children are spawned
        instead of forked, or empty.
        """
        if self._environment is None:
            run = self.run(protocol.Request("environment", ""))
            if run.document is None:
                raise RunnerError(f"the runner does not answer: {run.detail or run.status}", _last_line(run.output))
            self._environment = {**run.document, "missing": list(run.missing), **{name: self._facts[name] for name in ("problem", "start")}}
        return self._environment

    def close(self) -> None:
        """End every server with what it runs and remove all scratch; runs still under way come back as died."""
        with self._changed:
            self._closed = True
            servers = list(self._all)
            self._all.clear()
            self._idle.clear()
            self._changed.notify_all()
        for server in servers:
            server.hang_up()
        for server in servers:
            server.end()
        self._scratch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _take(self) -> Server:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._idle or len(self._all) < self._jobs)
            if self._closed:
                raise RunnerError("the pool of servers is closed")
            if self._idle:
                return self._idle.pop()
            server = Server(self._python, self._scratch.folder("server"), self._without)
            self._all.add(server)
        try:
            self._facts = server.wait_until_ready()
        except BaseException as error:
            self._drop(server)
            if self._closed and isinstance(error, RunnerError | OSError | ValueError):
                raise RunnerError("the pool of servers is closed") from None
            raise
        return server

    def _give(self, server: Server) -> None:
        with self._changed:
            if server in self._all:
                self._idle.append(server)
            self._changed.notify()

    def _drop(self, server: Server) -> None:
        server.end()
        with self._changed:
            self._all.discard(server)
            self._changed.notify()

    def _run_on(self, server: Server, request: protocol.Request) -> Run:
        folder = server.folder_of_run()
        token = secrets.token_hex(16)
        started = time.monotonic()
        try:
            ended = server.run(replace(request, scratch=str(folder), token=token))
        finally:
            scratch.remove(folder)
        return _judge(ended, token, time.monotonic() - started)


def _judge(ended: Ended, token: str, elapsed: float) -> Run:
    """The Run of what came back, trusting only a frame that carries this run's token."""
    run = Run("ok", None, memoryview(b""), ended.output, ended.dropped, ended.seconds or elapsed, ended.rss_mb, ended.missing)
    if ended.how != "exited":
        return replace(run, status=STATUS_OF[ended.how], detail=ended.detail)
    if not ended.result:
        return replace(run, status="died", detail=ended.detail or "the child ended without a result")
    try:
        document, blobs = protocol.unframe(ended.result, token)
    except protocol.FrameError as error:
        return replace(run, status="forged", detail=str(error))
    return replace(run, document=document, blobs=blobs)


def _known(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name.strip() not in layers.LAYERS:
            raise RunnerError(f"{layers.VARIABLE}: no isolation layer is called {name.strip()!r}", f"known: {', '.join(layers.LAYERS)}")
    return tuple(name.strip() for name in names)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


STATUS_OF = {"timeout": "timeout", "memory": "memory", "disk": "disk", "processes": "memory", "result": "output", "died": "died", "sandbox": "died"}
"""How a run ended, in the words of ``Run.status``; more processes than allowed count as memory."""
