"""Seeds from torch's own operator samples (OpInfo), printed by the interpreter whose torch is judged. ``opinfo`` or ``opinfo:COUNT`` as a path."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from workbench.environment import clean
from workbench.errors import RunnerError
from workbench.runner import __file__ as runner_file

DEFAULT = 200
SECONDS = 600.0


def wanted(path: Path) -> int | None:
    """How many operator samples a path asks for: ``opinfo`` or ``opinfo:COUNT``; None for any other path, and for one that is there."""
    asked = re.fullmatch(r"opinfo(?::(\d+))?", str(path))
    return None if asked is None or path.exists() else int(asked[1] or DEFAULT)


def sources(count: int, *, seed: int = 0, python: str | None = None) -> list[tuple[str, str]]:
    """Names and program texts, ``count`` of them or all there are; the same for the same torch and seed. RunnerError when torch gives none."""
    interpreter = python or sys.executable
    main = Path(runner_file).with_name("__main__.py")
    with tempfile.TemporaryDirectory(prefix="workbench-opinfo-") as folder:
        try:
            done = subprocess.run(
                [interpreter, str(main), "--opinfo", str(count), str(seed)],
                env=clean(interpreter, Path(folder)),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RunnerError(f"torch's operator samples could not be had: {error}", "workbench doctor") from error
    try:
        document = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        document = {"failed": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]}
    if "failed" in document:
        raise RunnerError(f"torch's operator samples could not be had: {document['failed']}", "use bundled seeds, or --seeds FOLDER")
    return [(entry["name"], entry["source"]) for entry in document["programs"]]
