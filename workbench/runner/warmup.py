"""What a server does once, before it may fork: import torch, fix the thread counts, compile one trivial kernel, look at itself.

Never initialises CUDA: a forked child could not use it any more.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from typing import Any


def prepare() -> dict[str, Any]:
    """Warm this process up; facts for the host: ``torch``, ``threads`` (of the process, must be 1), ``compiled`` (or why not)."""
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx
    import torch._inductor.config as inductor

    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401 - so that children find it imported
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    inductor.compile_threads = 1
    _ask_for_vectors()
    problem = compile_trivial()
    gc.collect()
    gc.freeze()  # children copy fewer pages
    return {"torch": str(torch.__version__), "problem": problem, "threads": thread_names()}


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


def compile_trivial() -> str:
    """Compile and run one trivial kernel, so that children inherit compiler and precompiled header; why it failed, or empty."""
    import torch

    try:
        compiled = torch.compile(lambda x: torch.sin(x) + 1)
        compiled(torch.arange(8, dtype=torch.float32))
    except Exception as error:  # eager and the backends above inductor still serve
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    finally:
        torch._dynamo.reset()
    return ""
