"""One server seen from the host: starting it with a clean environment, handing it a run, reading what comes back with limits."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from store.records import JSON
from workbench import scratch
from workbench.environment import clean
from workbench.errors import RunnerError
from workbench.runner import protocol, wire

RUNNER = Path(__file__).parent / "runner" / "__main__.py"

START_SECONDS = 300.0
"""For a server to import torch and compile its first kernel, header included (7 to 20 s measured on two cores, more on a busy machine)."""

GRACE_SECONDS = 75.0
"""Beyond a run's own limit, for its server to build a header first and to end it; then the host gives the server up."""

RESULT_MB = 1024
"""Largest result that the host will hold."""


@dataclass(slots=True)
class Ended:
    """How a run ended and what it left.

    how:    exited | timeout | memory | disk | processes | sandbox | result | died
    result: the bytes of the result pipe
    """

    how: str
    result: bytes = b""
    output: str = ""
    dropped: int = 0
    seconds: float = 0.0
    rss_mb: int = 0
    missing: tuple[str, ...] = ()
    detail: str = ""


class Server:
    """A runner process. RunnerError from the constructor when it cannot be started, from ``wait_until_ready`` when it cannot serve."""

    def __init__(self, python: str | None, folder: Path, without: tuple[str, ...] = ()) -> None:
        self.runs = 0
        self.growth_mb = 0
        self._python = python or sys.executable
        self._folder = folder
        self._log = folder / "server.log"
        self._ended = False
        self._connection, theirs = socket.socketpair()
        try:
            with theirs, self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [self._python, str(RUNNER), str(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=folder,
                    env=clean(self._python, folder, without),
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C in the terminal is the host's to handle
                )
        except OSError as error:
            self._connection.close()
            raise RunnerError(f"{self._python}: cannot be started ({error.strerror})", HINT) from error

    def alive(self) -> bool:
        """Whether it can take another run."""
        return not self._ended and self._process.poll() is None

    def folder_of_run(self) -> Path:
        """A new scratch folder for the next run."""
        self.runs += 1
        folder = self._folder / f"run-{self.runs}"
        folder.mkdir(mode=0o700)
        return folder

    def run(self, request: protocol.Request) -> Ended:
        """Hand over one run and read its pipes until the server says that nothing of it is left."""
        result, result_end = os.pipe()
        output, output_end = os.pipe()
        pipes = _Pipes(result, output, request.limits)
        try:
            try:
                wire.send(self._connection, request.to_bytes(), (result_end, output_end))
            finally:
                os.close(result_end)
                os.close(output_end)
            return self._follow(pipes, time.monotonic() + request.limits.seconds + GRACE_SECONDS)
        except wire.Closed:
            detail = f"the server died{self._how()}"
            self.end()
            return pipes.ended("died", detail=detail)
        except BaseException:
            self.end()
            raise
        finally:
            pipes.close()

    def hang_up(self) -> None:
        """Tell the server to end by closing its socket; does not wait."""
        self._ended = True
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """End the server and everything below it, and remove its folder; safe to call twice."""
        self.hang_up()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._connection.close()
        scratch.remove(self._folder)

    def _follow(self, pipes: _Pipes, deadline: float) -> Ended:
        """Drain both pipes until the report comes."""
        while True:
            remaining = deadline - time.monotonic()
            ready = pipes.wait(self._connection, remaining)
            if pipes.too_large:
                self.end()
                return pipes.ended("result", detail=f"the result is larger than {RESULT_MB} MB")
            if remaining <= 0:
                self.end()
                return pipes.ended("timeout", detail="the server did not answer")
            if ready:
                break
        report = wire.receive_json(self._connection)
        pipes.drain()
        self.growth_mb = report["growth_mb"]
        return pipes.ended(report["how"], report)

    def wait_until_ready(self) -> dict[str, JSON]:
        """Wait until it is warm; what it says of itself (runner/warmup.py)."""
        if not _readable([self._connection.fileno()], START_SECONDS):
            waited = f"{self._python}: the server did not start within {START_SECONDS:.0f} s"
            raise RunnerError(waited, "is the machine very busy? try fewer --jobs")
        try:
            facts = wire.receive_json(self._connection)
        except wire.Closed:
            raise RunnerError(f"{self._python}: the server died while starting{self._how()}: {self._last_line()}", HINT) from None
        if "failed" in facts:
            raise RunnerError(f"{self._python}: {facts['failed']}", HINT)
        return facts

    def _how(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            return f" of signal {-code}" if code < 0 else f" with exit code {code}"
        return ""

    def _last_line(self) -> str:
        lines = self._log.read_bytes()[-4096:].decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


def _readable(descriptors: list[int], seconds: float) -> set[int]:
    """Those that can be read or have ended, after waiting for one of them."""
    poll = select.poll()  # not select: a host with many servers has descriptors beyond 1023
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(seconds * 1000)}


HINT = "the interpreter must have torch 2.6 or newer; name another one with --python"


class _Pipes:
    """The reading ends of one run's result and output pipes; reads both as fast as they fill, keeps what the limits allow."""

    def __init__(self, result: int, output: int, limits: protocol.Limits) -> None:
        self._open = [result, output]
        self._result_end = result
        self._result = bytearray()
        self._tail = bytearray()
        self._keep = limits.output_kb * 1024
        self._written = 0
        self.too_large = False
        for end in self._open:
            os.set_blocking(end, False)

    def wait(self, connection: socket.socket, seconds: float) -> bool:
        """Read what there is; True when the server has something to say."""
        speaker = connection.fileno()
        ready = _readable([speaker, *self._open], max(0.0, min(seconds, 1.0)))
        for end in self._open[:]:
            if end in ready:
                self._read(end)
        return speaker in ready

    def drain(self) -> None:
        """Read what is left; all writers are gone."""
        for end in self._open[:]:
            while end in self._open and self._read(end):
                pass

    def ended(self, how: str, report: dict[str, JSON] | None = None, *, detail: str = "") -> Ended:
        """The record of what was read."""
        report = report or {}
        return Ended(
            how,
            bytes(self._result),
            self._tail.decode(errors="replace"),
            self._written - len(self._tail),
            report.get("seconds", 0.0),
            report.get("rss_mb", 0),
            tuple(report.get("missing", ())),
            detail or report.get("detail", ""),
        )

    def close(self) -> None:
        """Close what is still open."""
        for end in self._open:
            os.close(end)
        self._open.clear()

    def _read(self, end: int) -> bool:
        """Read once; False when there is nothing now or ever."""
        try:
            part = os.read(end, 1 << 20)
        except BlockingIOError:
            return False
        if not part:
            self._open.remove(end)
            os.close(end)
            return False
        if end == self._result_end:
            self._result += part
            self.too_large = len(self._result) > RESULT_MB << 20
            return not self.too_large
        self._written += len(part)
        self._tail += part
        del self._tail[: -self._keep or None]
        return True
