"""The last steps of a child: its streams, folders and caches, then the program, then its result as one frame."""

from __future__ import annotations

import fcntl
import os
import resource
import sys
import tempfile
from typing import NoReturn

from . import kernel, protocol


def run(request: protocol.Request, result: int, output: int) -> NoReturn:
    """Handle the request and leave the process without running anybody's exit handlers."""
    result = _streams(result, output)
    token, request.token = request.token, ""
    try:
        _folders(request)
        from . import child

        document, blobs = child.handle(request)
        _flush()
        _write(result, protocol.frame(token, document, blobs))
    except BaseException:
        import traceback

        traceback.print_exc()
        _flush()
        os._exit(1)
    os._exit(0)


def _streams(result: int, output: int) -> int:
    """Standard streams to the output pipe, the result pipe out of the program's way; returns its number."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    high = min(900, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 1)
    moved = fcntl.fcntl(result, fcntl.F_DUPFD_CLOEXEC, high)
    for end in (null, output, result):
        os.close(end)
    return moved


def _folders(request: protocol.Request) -> None:
    scratch = request.scratch
    temporary = os.path.join(scratch, "tmp")
    os.makedirs(temporary, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = temporary
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(scratch, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(scratch, "triton")
    if request.profile == "untrusted":
        os.environ["HOME"] = scratch
    os.chdir(request.folder if request.folder and request.profile == "own" else scratch)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    kernel.flush_streams()


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
