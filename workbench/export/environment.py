"""The Versions part of a draft: torch, CPU capability, threads, compiler, ``collect_env``; from a subprocess, without names of people."""

from __future__ import annotations

import getpass
import json
import platform
import re
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workbench.errors import RunnerError
from workbench.export.run import run_python

_ASK = r"""
import json, platform, subprocess, sys
import torch
from torch.utils.collect_env import get_pretty_env_info
try:
    from torch._inductor.cpp_builder import get_cpp_compiler
    compiler = subprocess.run([get_cpp_compiler(), "--version"], capture_output=True, text=True).stdout.splitlines()[0]
except Exception as error:
    compiler = f"none ({type(error).__name__})"
facts = {
    "torch": torch.__version__,
    "capability": torch.backends.cpu.get_cpu_capability(),
    "threads": torch.get_num_threads(),
    "compiler": compiler,
    "python": platform.python_version(),
}
sys.stdout.write("\nFACTS " + json.dumps(facts) + "\n" + get_pretty_env_info() + "\nEND\n")
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """What a report says of the machine. ``collected``: the text of ``torch.utils.collect_env``, scrubbed."""

    torch: str
    capability: str
    threads: int
    compiler: str
    python: str
    collected: str = ""

    def summary(self) -> str:
        """One line."""
        return f"torch {self.torch} · CPU capability {self.capability} · {self.threads} threads · {self.compiler} · Python {self.python}"


@lru_cache(maxsize=4)
def environment(python: str | None = None) -> Environment:
    """Ask ``python`` (default: our own) once; RunnerError when it has no torch."""
    with tempfile.TemporaryDirectory(prefix="environment-") as folder:
        script = Path(folder) / "ask.py"
        script.write_text(_ASK)
        ended = run_python([str(script)], Path(folder), python=python, seconds=180, kept=60000)
    found = re.search(r"^FACTS ([^\n]*)$\n(.*)^END$", ended.output, re.MULTILINE | re.DOTALL)
    if ended.code != 0 or not found:
        last = ended.output.strip().rsplit("\n", 1)[-1]
        problem = f"{python or 'python'}: cannot say its versions ({last or ended.words()})"
        raise RunnerError(problem, "name an interpreter that has torch with --python")
    return Environment(**json.loads(found[1]), collected=scrubbed(found[2].strip()))


def scrubbed(text: str, *, user: str | None = None, host: str | None = None, home: str | None = None) -> str:
    """The text without names of people and machines: home folders, user name, host name, absolute folders of interpreters."""
    home = home or str(Path.home())
    names = [(user or _user(), "USER"), (host or platform.node(), "HOST")]
    if home not in ("", "/"):
        text = text.replace(home, "~")
    text = re.sub(r"(?:/home|/Users|C:\\Users)[/\\][^/\\\s:\"']+", "~", text)
    text = re.sub(r"(?<![\w.~])(?:/[\w.+@-]+)+/(?=(?:bin|lib|site-packages|dist-packages)/)", "…/", text)
    for name, instead in names:
        if len(name) > 2:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", instead, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
