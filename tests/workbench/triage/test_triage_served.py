"""The screen in a browser: it draws, and nobody gets in without the address that was printed."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.triage.served import Guard

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")


def test_only_our_host_our_origin_and_our_key_get_in() -> None:
    guard = Guard("secret", 8000)
    assert guard.refusal("127.0.0.1:8000", None, "secret") == ""
    assert guard.refusal("localhost:8000", "http://localhost:8000", "secret") == ""
    assert "key" in guard.refusal("127.0.0.1:8000", None, None)
    assert "key" in guard.refusal("127.0.0.1:8000", None, "secre")
    assert guard.refusal("evil.example:8000", None, "secret") == "another host"
    assert guard.refusal("127.0.0.1:8000", "http://evil.example", "secret") == "another origin"
    assert guard.refusal("127.0.0.1:8000", "http://127.0.0.1:9000", "secret") == "another origin"
    assert guard.refusal("127.0.0.1:8000", "null", "secret") == "another origin"


@pytest.fixture
def address(db: Path) -> Iterator[str]:
    """A server on a free port; its address with the key."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [sys.executable, "-m", "workbench", "--db", str(db), "triage", "--serve", "--port", str(port), "bucket:1"]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert server.stderr is not None
    found = re.search(r"http://\S+", server.stderr.readline())
    assert found is not None
    yield found[0]
    server.kill()  # without a chance to end its children
    server.wait(20)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
async def test_the_screen_is_drawn_over_the_websocket_and_only_with_the_key(address: str, db: Path) -> None:
    base = address.partition("?")[0]
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as visitor:
        for _ in range(100):
            try:
                refused = await visitor.get(base)
                break
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.1)
        assert refused.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await visitor.ws_connect(base.replace("http", "ws") + "ws")
        page = await visitor.get(address)
        assert page.status == 200
        assert page.url.query_string == ""
        text = await page.text()
        assert f"{base}static/css/xterm.css" in text
        assert re.findall(r'<(?:link|script)[^>]*(?:href|src)="https:', text) == []
        assert "<title>workbench triage</title>" in text
        assert "keys.focus()" in text  # else keys go nowhere before the first click
        assert "default-src 'self'" in page.headers["Content-Security-Policy"]
        assert (await visitor.get(address, headers={"Host": "evil.example"})).status == 403
        assert (await visitor.get(base, headers={"Origin": "http://evil.example"})).status == 403
        drawn = b""
        async with visitor.ws_connect(base.replace("http", "ws") + "ws?width=100&height=30") as socket_:
            while b"3 of 40 findings" not in drawn:
                message = await asyncio.wait_for(socket_.receive(), 60)
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), drawn[-500:]
                drawn += message.data if isinstance(message.data, bytes) else b""
            (screen,) = screens(db)
            os.kill(int(Path(f"/proc/{screen}/stat").read_text().rpartition(")")[2].split()[1]), 9)  # the server
            for _ in range(200):
                if not screens(db):
                    break
                await asyncio.sleep(0.1)
            assert not screens(db)


def screens(db: Path) -> list[int]:
    """Processes that draw this store for a browser."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(db).encode() in words and b"triage" in words and b"--serve" not in words:
            found.append(int(entry.name))
    return found


def test_a_taken_port_is_said(db: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = [sys.executable, "-m", "workbench", "--db", str(db), "triage", "--serve", "--port", str(taken.getsockname()[1])]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "--port" in ended.stderr
