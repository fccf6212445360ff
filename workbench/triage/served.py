"""The screen in a browser on this machine: textual-serve behind a guard that lets in nobody but the person who started it.

Whoever reaches the screen can start campaigns and read programs, so loopback alone is not enough: other people of this machine and web pages
that are open in a browser reach loopback too. Hence a secret in the address, and no other host or origin than our own.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError

WATCH_SECONDS = 1.0
HOST = "127.0.0.1"
COOKIE = "workbench"
DRIVER = "textual.drivers.web_driver:WebDriver"
"""What TEXTUAL_DRIVER says in a process that textual-serve has started."""

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self' ws://127.0.0.1:*; frame-ancestors 'none'"
)
"""Nothing is fetched from elsewhere; textual-serve's page asks a font server."""


OURS = """<title>workbench triage</title>
    <link rel="icon" href="data:," />
    <script>
      const waiting = setInterval(() => {
        const keys = document.querySelector(".xterm-helper-textarea");
        if (keys && document.body.classList.contains("-first-byte")) {
          keys.focus();
          clearInterval(waiting);
        }
      }, 100);
    </script>
  </head>"""
"""What textual-serve's page lacks: a name, and the keys; without this they went nowhere before the first click."""

_ELSEWHERE = re.compile(r"<link\b[^>]*\bhref=\"https:[^>]*>")
"""Our own style sheet is named by its whole address too, and that is http."""


def serve(path: Path, query: Sequence[str], port: int, say: Callable[[str], None]) -> None:
    """Serve the screen of a store until Ctrl-C, one process a visit; WorkbenchError without the extra, or when the port is taken."""
    try:
        from textual_serve.server import Server
    except ImportError as error:
        raise WorkbenchError("--serve needs textual-serve", "pip install 'torch-compile-workbench[serve]'") from error
    _check_free(port)
    words = [sys.executable, "-m", "workbench", "--db", str(path.absolute()), "triage", "--", *query]
    server: Any = Server("exec " + shlex.join(words), host=HOST, port=port, title="workbench triage")
    secret = secrets.token_urlsafe(24)
    guard = Guard(secret, port)
    make = server._make_app

    async def guarded() -> Any:
        app = await make()
        app.middlewares.append(guard.middleware())
        return app

    server._make_app = guarded
    server.on_startup = _quiet  # its own banner names an address without the secret
    server.initialize_logging = _no_log  # and its log would show the secret
    say(f"open http://{HOST}:{port}/?key={secret}")
    say("only this machine and only this address; Ctrl-C ends it")
    server.serve()


def end_with_server(end: Callable[[], None]) -> None:
    """Call ``end`` when the process that started this one is gone: a screen that nobody can see must not go on."""
    server = os.getppid()

    def watch() -> None:
        while os.getppid() == server:
            time.sleep(WATCH_SECONDS)
        threading.Timer(5.0, os._exit, (0,)).start()  # should the screen not manage to end by itself
        end()

    threading.Thread(target=watch, name="server-watch", daemon=True).start()


async def _quiet(app: Any) -> None:
    """Say nothing."""


def _no_log() -> None:
    """Log nothing."""


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise WorkbenchError(f"port {port} cannot be used ({error.strerror})", "name another with --port") from error


def page(html: str) -> str:
    """textual-serve's page with what it lacks and without what it would fetch from elsewhere."""
    return _ELSEWHERE.sub("", html).replace("</head>", OURS, 1)


class Guard:
    """Decides about one request: by its host, where it comes from, and the secret."""

    def __init__(self, secret: str, port: int) -> None:
        self._secret = secret
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    def refusal(self, host: str, origin: str | None, cookie: str | None) -> str:
        """Why a request is refused; empty when it is not."""
        if host not in self._hosts:
            return "another host"  # a name that somebody points to this machine (DNS rebinding)
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return "another origin"
        if cookie is None or not secrets.compare_digest(cookie.encode(), self._secret.encode()):
            return "no key: use the address that workbench triage --serve has printed"
        return ""

    def middleware(self) -> Any:
        """For aiohttp."""
        from aiohttp import web

        @web.middleware
        async def check(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
            key = request.query.get("key") if request.path == "/" else None
            why = self.refusal(request.host, request.headers.get("Origin"), key or request.cookies.get(COOKIE))
            if why:
                return web.Response(status=403, text=f"refused: {why}\n")
            if key is not None:
                response: web.StreamResponse = web.Response(
                    status=303, headers={"Location": f"http://{HOST}:{request.host.rpartition(':')[2]}/"}
                )
                response.set_cookie(COOKIE, self._secret, httponly=True, samesite="Strict")
                return response
            response = await handler(request)
            if request.path == "/" and isinstance(response, web.Response) and response.text is not None:
                response.text = page(response.text)
            if not response.prepared:
                response.headers["Content-Security-Policy"] = POLICY
                response.headers["Referrer-Policy"] = "no-referrer"
            return response

        return check
