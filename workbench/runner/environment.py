"""What a run runs on: torch, interpreter, CPU capability, threads, compiler. Answers the action ``environment``."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
from typing import Any


def describe() -> dict[str, Any]:
    """Facts about this process's torch and its compiler, JSON values only."""
    import torch

    compiler, version = find_compiler()
    return {
        "torch": str(torch.__version__),  # a str subclass otherwise
        "torch_git": str(getattr(torch.version, "git_version", "")),
        "torch_folder": os.path.dirname(torch.__file__),
        "cuda": torch.version.cuda,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "compiler": compiler,
        "compiler_version": version,
        "linker": _linker(compiler),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def find_compiler() -> tuple[str | None, str]:
    """The C++ compiler that Inductor uses and the first line of its version; None and the reason when there is none."""
    try:
        from torch._inductor import cpp_builder

        name = cpp_builder.get_cpp_compiler()
    except Exception as error:
        return None, (str(error).strip().splitlines() or [type(error).__name__])[0]
    path = shutil.which(shlex.split(name)[0]) or name
    return path, _first_line([path, "--version"])


def _linker(compiler: str | None) -> str:
    """The linker that the compiler calls, by its own word."""
    if compiler is None:
        return ""
    return _first_line([compiler, "-Wl,--version", "-xc++", os.devnull])


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else ""
