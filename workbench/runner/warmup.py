"""What a server does once, before it may fork: import torch, fix the thread counts, compile one trivial kernel, look at itself.

Never initialises CUDA: a forked child could not use it any more.
"""

from __future__ import annotations

import contextlib
import gc
import glob
import hashlib
import importlib
import json
import os
import sys
import threading
import zipfile
import zlib
from collections.abc import Collection
from typing import Any

from .frames import forget_frames

LATE = ("numpy", "sympy.physics.units", "torch._inductor.choices", "torch._inductor.kernel_template_choice")
"""What else children would import, each anew: the second, which any larger kernel needs, took 0.12 of 1.04 s of CPU a compile."""


def prepare() -> dict[str, Any]:
    """Warm this process up; facts for the host: ``torch``, ``threads`` (of the process, must be 1), ``compiled`` (or why not)."""
    import torch

    from . import headers

    gc.disable()  # nothing that the imports make is garbage: a sixth of their time
    get_ready(_known_vectors())
    _remember_vectors()
    headers.protect()
    problem = compile_trivial(_archive())
    gc.enable()
    gc.collect()
    gc.freeze()  # children copy fewer pages
    return {"torch": str(torch.__version__), "problem": problem, "threads": thread_names()}


def get_ready(vectors: Collection[str] | None) -> None:
    """Import and set all that runs need, and compile nothing. ``vectors``: names of the vector instructions that work; None: find out."""
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx
    import torch._inductor.config as inductor

    for name in LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    inductor.compile_threads = 1
    if vectors is None:
        _ask_for_vectors()
    else:
        _tell_vectors(frozenset(vectors))


def thread_names() -> list[str]:
    """Names of this process's threads, as the kernel (or else Python) knows them."""
    try:
        names = []
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        return names
    except OSError:
        return [thread.name for thread in threading.enumerate()]


def _ask_for_vectors() -> None:
    """Let Inductor find out which vector instructions compile and load here; what it builds for that is kept beside the headers.

    With the server's private cache each start would pay some 10 s of CPU for it.
    """
    private = os.environ["TORCHINDUCTOR_CACHE_DIR"]
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(os.environ["WORKBENCH_HEADERS"], "vectors")
    try:
        from torch._inductor import cpu_vec_isa

        cpu_vec_isa.valid_vec_isa_list()
    except Exception:  # no compiler: compile_trivial says so
        return
    finally:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = private


def vectors() -> list[str]:
    """Names of the vector instructions that work here, by Inductor's own trial."""
    try:
        from torch._inductor import cpu_vec_isa

        return sorted(str(kind) for kind in cpu_vec_isa.valid_vec_isa_list())
    except Exception:
        return []


def _tell_vectors(known: frozenset[str]) -> None:
    """Spare Inductor the trial: a build and a new interpreter that imports torch, for each kind."""
    from torch._inductor import config, cpu_vec_isa

    def works(kind: Any) -> bool:
        told: bool | None = config.cpp.vec_isa_ok
        return str(kind) in known if told is None else told

    cpu_vec_isa.VecISA.__bool__ = works  # type: ignore[method-assign, assignment]


def _memory_of_vectors() -> str:
    """The file that remembers the answer for this torch, compiler and processor."""
    from . import environment

    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith(("flags", "Features"))), "")
    import torch

    facts = [torch.__version__, torch.version.git_version, torch.__file__, environment.find_compiler(), flags, sys.version]
    name = hashlib.sha256(repr(facts).encode()).hexdigest()[:32]
    return os.path.join(os.environ["WORKBENCH_HEADERS"], "vectors", f"{name}.json")


def _known_vectors() -> list[str] | None:
    try:
        with open(_memory_of_vectors()) as file:
            known = json.load(file)
        return [str(name) for name in known] if isinstance(known, list) else None
    except (OSError, ValueError):
        return None


def _remember_vectors() -> None:
    found = vectors()
    if found:  # none: perhaps only the compiler is ill today
        with contextlib.suppress(OSError):
            path = _memory_of_vectors()
            with open(f"{path}.{os.getpid()}", "w") as file:
                json.dump(found, file)
            os.replace(file.name, path)


def _archive() -> str | None:
    """Where servers keep the trivial kernel's library once it is built for this torch, compiler and processor; None without a compiler.

    The compiler takes over a second for it, at each start of a server.
    """
    from . import environment

    if environment.find_compiler()[0] is None:
        return None
    return _memory_of_vectors().removesuffix(".json") + ".zip"


def compile_trivial(archive: str | None = None) -> str:
    """Compile and run one trivial kernel, so that children inherit compiler and precompiled header; why it failed, or empty.

    ``archive``: to take its library from, and to keep it in; all but the compiler's own work is done anew.
    """
    import torch

    try:
        taken = archive is not None and _take(archive)
        compiled = torch.compile(lambda x: torch.sin(x) + 1)
        compiled(torch.arange(8, dtype=torch.float32))
        if archive is not None and not taken:
            _keep(archive)
    except Exception as error:  # eager and the backends above inductor still serve
        with contextlib.suppress(OSError):
            os.unlink(archive or "")  # the next start is not to stumble over it too
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    finally:
        torch._dynamo.reset()
        forget_frames()
    return ""


def _take(archive: str) -> bool:
    """Put the library where Inductor looks for it before it asks the compiler; False when there is none, or a broken one."""
    try:
        with zipfile.ZipFile(archive) as file:
            if file.testzip() is not None:  # before anything is written: a cut library would kill this process
                return False
            file.extractall(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error):
        return False
    return True


def _keep(archive: str) -> None:
    """Put the library aside, whole or not at all."""
    cache, half = os.environ["TORCHINDUCTOR_CACHE_DIR"], f"{archive}.{os.getpid()}"
    with contextlib.suppress(OSError):
        with zipfile.ZipFile(half, "w") as file:
            for path in glob.glob(f"{cache}/*/*.so"):
                file.write(path, os.path.relpath(path, cache))
        os.replace(half, archive)
