"""Opening a program in the person's editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from workbench.errors import WorkbenchError


def edit(source: str, name: str) -> str:
    """The text after the person has closed the editor (VISUAL, EDITOR, else vi); WorkbenchError when it cannot be started."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        path = Path(folder) / name
        path.write_text(source, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise WorkbenchError(f"the editor {editor!r} did not work ({error})", "set EDITOR to one that does") from error
