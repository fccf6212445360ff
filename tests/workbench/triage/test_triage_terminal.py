"""The app in a terminal of its own: what only a real one shows (the editor, signals, a size that changes)."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from store import open_store

WAITS = 120.0
"""Seconds after which a test gives up on a loaded machine; nothing is decided by them."""


class Terminal:
    """A program in a terminal: keys go in, what it drew comes out."""

    def __init__(self, words: list[str], folder: Path, **variables: str) -> None:
        self._end, side = pty.openpty()
        self.resize(24, 100)
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none", **variables}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workbench", *words], stdin=side, stdout=side, stderr=side, cwd=folder, env=environment, start_new_session=True
        )  # fmt: skip
        os.close(side)
        self.drawn = ""

    def resize(self, height: int, width: int) -> None:
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        if hasattr(self, "process"):
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys: str) -> None:
        self.drawn = ""
        os.write(self._end, keys.encode())

    def shows(self, text: str) -> None:
        """Wait until it has drawn this since the last key; colours and moves of the cursor between its words do not matter."""
        until = time.monotonic() + WAITS
        while time.monotonic() < until:
            self._read()
            if text in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.drawn):
                return
        raise AssertionError(f"never drew {text!r}, but {self.drawn[-2000:]!r}")

    def ends(self) -> int:
        """Its exit code."""
        until = time.monotonic() + WAITS
        while self.process.poll() is None and time.monotonic() < until:
            self._read()
        assert self.process.returncode is not None, "it did not end"
        return self.process.returncode

    def _read(self) -> None:
        ready, _, _ = select.select([self._end], [], [], 0.1)
        if ready:
            try:
                self.drawn += os.read(self._end, 65536).decode("utf-8", "replace")
            except OSError:  # the other side is closed
                time.sleep(0.05)

    def hang_up(self) -> None:
        """Close it under the program. It has no controlling terminal, so nobody sends SIGHUP."""
        os.close(self._end)
        self._end = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self._end >= 0:
            os.close(self._end)


@pytest.fixture
def triage(db: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """The app on a store, in a terminal, with these variables."""
    terminal = Terminal(["--db", str(db), "triage"], tmp_path, **getattr(request, "param", {}))
    terminal.shows("import torch")
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("triage", "said"),
    [
        ({"EDITOR": "false", "VISUAL": ""}, "✗ the editor 'false' ended with 1; nothing was kept"),
        ({"EDITOR": "/no/such/editor", "VISUAL": ""}, "✗ the editor '/no/such/editor' did not work"),
        ({"EDITOR": "quote ' open", "VISUAL": ""}, "✗ the editor"),
        ({"EDITOR": "sh -c 'kill -INT $$'", "VISUAL": ""}, "✗ the editor"),
        ({"EDITOR": "true", "VISUAL": ""}, "unchanged: nothing was queued"),
        ({"EDITOR": "sed -i s/import/imp@rt/", "VISUAL": ""}, "✗ edit kept as finding-40-edited.py, line 5: syntax error"),
        ({"EDITOR": "sh -c 'printf \"\\\\377\" >\"$0\"'", "VISUAL": ""}, "✗ the edit is not UTF-8 text (byte 0); kept as /"),
    ],
    indirect=["triage"],
)
def test_whatever_the_editor_does_the_screen_comes_back(triage: Terminal, said: str):
    triage.press("e")
    triage.shows(said)
    triage.press("j")
    triage.shows("39 ○ new")
    triage.press("q")
    assert triage.ends() == 0


def test_a_storm_of_sizes_leaves_the_app_answering(triage: Terminal):
    for height, width in ((3, 10), (60, 200), (1, 1), (24, 80)):
        triage.press("")
        triage.resize(height, width)
    triage.press("j")
    triage.shows("39 ○ new")
    triage.press("q")
    assert triage.ends() == 0


def test_a_store_of_an_older_workbench_is_brought_up_to_date(db: Path, tmp_path: Path):
    with sqlite3.connect(db) as raw:
        raw.execute("DROP INDEX finding_symptoms_finding")
        raw.execute("DELETE FROM _sqlite_migrations WHERE name = '0004_symptoms_by_finding'")
    raw.close()
    terminal = Terminal(["--db", str(db), "triage"], tmp_path)
    terminal.shows("import torch")
    terminal.press("q")
    assert terminal.ends() == 0
    terminal.close()


def test_it_ends_with_its_terminal(triage: Terminal):
    triage.hang_up()
    assert triage.process.wait(WAITS) == 129


def test_what_was_decided_before_a_kill_is_kept(triage: Terminal, db: Path):
    triage.press("l")
    triage.shows("+ or nothing puts on")
    triage.press("+mine\r")
    triage.shows("✓ labels +mine: finding 40 changed")
    triage.process.kill()
    triage.ends()
    with open_store(db) as store:
        assert store.ids("label:mine") == [40]
