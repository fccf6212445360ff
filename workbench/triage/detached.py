"""Starting `workbench work` as a process of its own, which outlives the screen. This is the only process that the screen starts by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workbench.errors import WorkbenchError


def start_worker(path: Path) -> str:
    """Start a worker on this store with its output in a file beside it; returns a sentence for the status line."""
    log = path.with_name(path.name + ".work.log")
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "workbench", "--db", str(path), "work"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise WorkbenchError(f"the job is queued, but no worker could be started ({error.strerror})", "run: workbench work") from error
    return f"worker started (process {process.pid}, log {log.name})"
