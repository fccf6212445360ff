"""Run a repro the way a stranger would: a fresh process, a clean environment, fresh caches; and see how it ended."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import RunnerError
from workbench.export.harness import MARK

PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CC", "CXX", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "SYSTEMROOT", "VIRTUAL_ENV")
"""The only variables of our own environment that a repro sees: no keys, no settings of torch."""

SECONDS = 300.0
"""Wall clock of one run; a cold compile on a slow machine took 16 s, its first header 20 s."""

KEPT = 4000
"""Characters of output kept: the tail, where a traceback ends."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one run ended: ``code`` None after a timeout; ``output`` is stdout and stderr together, its tail."""

    code: int | None
    output: str

    @property
    def mismatch(self) -> bool:
        """It exited 1 and said that it was for the mismatch, not for a traceback."""
        return self.code == 1 and re.search(rf"^{MARK}: ", self.output, re.MULTILINE) is not None

    @property
    def agreed(self) -> bool:
        """It exited 0."""
        return self.code == 0

    def words(self) -> str:
        """``exit 1, mismatch`` and the like."""
        if self.code is None:
            return "timeout"
        if self.mismatch:
            return "exit 1 with the mismatch"
        last = self.output.strip().rsplit("\n", 1)[-1][:120]
        return f"exit {self.code}" + (f" ({last})" if self.code and last else "")


def run_repro(text: str, *, python: str | None = None, variables: Mapping[str, str] | None = None, seconds: float = SECONDS) -> Ended:
    """Run a repro's text under ``python`` (default: our own) in a scratch folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="repro-") as folder:
        path = Path(folder) / "repro.py"
        path.write_text(text)
        return run_python([str(path)], Path(folder), python=python, variables=variables, seconds=seconds)


def run_python(
    arguments: list[str],
    folder: Path,
    *,
    python: str | None,
    variables: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    kept: int = KEPT,
) -> Ended:
    """Run an interpreter with private caches in its own process group; nothing of it outlives the call."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment |= {"HOME": str(folder), "TMPDIR": str(folder), "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "PYTHONNOUSERSITE": "1"}
    environment |= dict(variables or {})
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                [python or sys.executable, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise RunnerError(
                f"{python or sys.executable}: cannot be started ({error.strerror})", "name an interpreter that has torch with --python"
            ) from error
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        end = output.seek(0, os.SEEK_END)
        output.seek(max(0, end - 4 * kept))
        return Ended(code, output.read().decode(errors="replace")[-kept:].replace(str(folder), "."))
