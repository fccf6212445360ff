"""Opening a program in the person's editor."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError


def edit(source: str, name: str) -> str:
    """The text after the person has closed the editor (VISUAL, EDITOR, else vi); WorkbenchError when it cannot be started."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        path = Path(folder) / name
        try:
            path.write_text(source, encoding="utf-8")
            with _interrupts_are_the_editors():
                ended = subprocess.run([*shlex.split(editor), str(path)], check=False)
            if ended.returncode:
                raise WorkbenchError(f"the editor {editor!r} ended with {ended.returncode}; nothing was kept", "set EDITOR to another one")
            return _text(path)
        except (OSError, ValueError) as error:
            raise WorkbenchError(f"the editor {editor!r} did not work ({error})", "set EDITOR to one that does") from error


def _text(path: Path) -> str:
    """What the editor saved; a text that is no UTF-8 is nobody's to throw away, so it is put where it stays."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        kept = shutil.copy(path, tempfile.mkdtemp(prefix="triage-edited-"))
        raise WorkbenchError(f"the edit is not UTF-8 text (byte {error.start}); kept as {kept}", "save it as UTF-8") from error


@contextmanager
def _interrupts_are_the_editors() -> Iterator[None]:
    """Ctrl-C in the editor's terminal is for the editor: we outlive it. (A handler, not SIG_IGN, which the editor would inherit.)"""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
