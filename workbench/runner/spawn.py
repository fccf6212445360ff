"""Children that start anew instead of being forked from the warm server: where a fork cannot use what the server has touched.

That is so on macOS, and for an accelerator that the server's torch has already looked at; ``WORKBENCH_START=spawn`` asks for it. A spawned
child takes on the same layers of isolation and answers the same requests; it pays for importing torch.
"""

from __future__ import annotations

import os
import sys
import tempfile
from typing import NoReturn

from .protocol import Request

VARIABLE = "WORKBENCH_START"
"""Environment variable: ``spawn`` starts every child anew; anything else leaves the choice to the server."""

VECTORS = "WORKBENCH_VECTORS"
"""Environment variable of a spawned child: the vector instructions that the server has found to work."""

OPTION = "--child"
ACCELERATORS = ("cuda", "xpu", "mps")


def why() -> str:
    """Why children have to be spawned, asked once torch is imported; empty when forking serves."""
    if os.environ.get(VARIABLE) == "spawn":
        return f"{VARIABLE} asks for it"
    if sys.platform != "linux":
        return "forked children cannot use this platform's libraries"
    found = _bad_in_forks()
    return f"{found} was initialised at import" if found else ""


def _bad_in_forks() -> str:
    """The accelerator that a fork of this process could not use, by torch's own word; nearly always none."""
    pid = os.fork()
    if pid == 0:
        bad = [number for number, name in enumerate(ACCELERATORS, 1) if _is_bad(name)]
        os._exit(bad[0] if bad else 0)
    number = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return ACCELERATORS[number - 1] if 0 < number <= len(ACCELERATORS) else ""


def _is_bad(name: str) -> bool:
    torch = sys.modules["torch"]
    bad = getattr(getattr(torch, name, None), "_is_in_bad_fork", None)
    return bad is not None and bool(bad())


def become(request: Request, result: int, output: int) -> NoReturn:
    """In a fork that has taken on its isolation: become a new interpreter that answers the request."""
    from . import warmup

    os.dup2(output, 2)  # for last words
    source, name = tempfile.mkstemp(dir=request.scratch)
    os.unlink(name)
    with open(source, "wb", closefd=False) as file:
        file.write(request.to_bytes())
    os.lseek(source, 0, os.SEEK_SET)
    descriptors = (source, result, output)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, True)  # noqa: FBT003
    os.environ[VECTORS] = ",".join(warmup.vectors())
    main = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")
    os.execv(sys.executable, [sys.executable, main, OPTION, *map(str, descriptors)])


def run(descriptors: list[str]) -> NoReturn:
    """In the new interpreter: get as warm as a server without compiling anything, then answer."""
    from . import entry, headers, warmup

    source, result, output = map(int, descriptors)
    os.set_inheritable(result, False)  # noqa: FBT003
    with os.fdopen(source, "rb") as file:
        request = Request.from_bytes(file.read())
    tempfile.tempdir = os.environ["TMPDIR"]  # where torch looks for headers; not writable here, which Python would object to
    warmup.get_ready(os.environ.pop(VECTORS, "").split(","))
    headers.protect()
    entry.run(request, result, output)
