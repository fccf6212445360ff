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
    token = _put_away(request)
    try:
        _folders(request)
        from . import child

        document, blobs = child.handle(request)
        _flush()
        _write(result, protocol.frame(os.read(token, 64).decode(), document, blobs))
    except BaseException:
        import traceback

        traceback.print_exc()
        _flush()
        os._exit(1)
    os._exit(0)


def _put_away(request: protocol.Request) -> int:
    """The request's token in a pipe, out of the program's sight until the result is whole; returns the reading end."""
    read, write = os.pipe()
    os.write(write, request.token.encode())
    os.close(write)
    request.token = ""
    return _moved(read)


def _moved(descriptor: int) -> int:
    """The descriptor under a high number, out of the program's way."""
    high = min(900, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 8)
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, high)
    os.close(descriptor)
    return moved


def _streams(result: int, output: int) -> int:
    """Standard streams to the output pipe, the result pipe out of the program's way; returns its number."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for end in (null, output):
        if end > 2:
            os.close(end)
    return _moved(result)


def _folders(request: protocol.Request) -> None:
    scratch = request.scratch
    temporary = os.path.join(scratch, "tmp")
    os.makedirs(temporary, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = temporary
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(scratch, "inductor")
    os.environ["TRITON_CACHE_DIR"] = os.path.join(scratch, "triton")
    os.environ["CUDA_CACHE_PATH"] = os.path.join(scratch, "cuda")
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
