"""Loopback servers for tests: one that replays what it is told, faults included, over real sockets; and llama.cpp's own."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    """One HTTP reply. ``cut``: send only so many bytes of the body and hang up; ``wait``: seconds before anything is sent, ``drip``: between bytes."""

    status: int = 200
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    cut: int | None = None
    wait: float = 0.0
    drip: float = 0.0
    hang_up: bool = False


def completion(content: object, *, finish: object = "stop", usage: object = None, **more: object) -> Reply:
    """A chat completion as servers send it."""
    usage = usage or {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360, "prompt_tokens_details": {"cached_tokens": 250}}
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    return Reply(
        body=json.dumps(
            {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice], "usage": usage, **more}
        )
    )


def fenced(source: str) -> Reply:
    """An answer that is a program in a fence."""
    return completion(f"Here it is:\n\n```python\n{source}\n```\nIt has the property.")


def error(status: int, message: str, *, code: str | None = None, headers: dict[str, str] | None = None, **more: object) -> Reply:
    """An error as OpenAI's servers word it."""
    body = json.dumps({"error": {"message": message, "type": "x", "code": code, **more}})
    return Reply(status, body, {"content-type": "application/json", **(headers or {})})


Script = Sequence[Reply] | Callable[[dict[str, Any]], Reply]


class Serving:
    """A server and what it was asked. Replies come from a list in order (the last one again and again), or from a function of the request."""

    def __init__(self, script: Script, models: Sequence[str] = ("tiny",)) -> None:
        self.script, self.models = script, models
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        lock = threading.Lock()
        serving = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                self._send(Reply(body=json.dumps({"object": "list", "data": [{"id": m, "object": "model"} for m in serving.models]})))

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    serving.asked.append(request)
                    serving.headers.append({k.lower(): v for k, v in self.headers.items()})
                    number = len(serving.asked) - 1
                script = serving.script
                self._send(script(request) if callable(script) else script[min(number, len(script) - 1)])

            def _send(self, reply: Reply) -> None:
                if reply.wait:
                    serving.released.wait(reply.wait)
                if reply.hang_up:
                    self.close_connection = True
                    self.connection.close()
                    return
                body = reply.body.encode() if isinstance(reply.body, str) else reply.body
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                for byte in body if reply.drip else ():
                    serving.released.wait(reply.drip)
                    self.wfile.write(bytes([byte]))
                self.wfile.write(b"" if reply.drip else body if reply.cut is None else body[: reply.cut])
                if reply.cut is not None:
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.close()

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"


@contextmanager
def serving(script: Script, **more: Any) -> Iterator[Serving]:
    """A replay server while the block runs."""
    server = Serving(script, **more)
    thread = threading.Thread(target=server._server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server._server.shutdown()
        server._server.server_close()
        thread.join(5)


def dead_port() -> str:
    """An address where nobody listens."""
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}/v1"


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Poll; whether it became true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return true()
