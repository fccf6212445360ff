"""Precompiled headers: one folder for all servers of a user, which children read and only servers write.

A child that needs a header nobody has built falls back to building its own in its scratch: slower by 5 to 20 s, and gone after the run. For the
settings that are common in bug reports a server builds the header first, in a process that runs no program.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from . import shelf, warmup
from .protocol import Request

FLAGS = ("cpp.simdlen", "cpp.enable_floating_point_contract_flag", "cpp.enable_unsafe_math_opt_flag")
"""Keys of torch._inductor.config that change the compiler's flags, so that each value needs a header of its own."""

SECONDS = 45.0
"""Longest that building a header may keep a run waiting."""

_LADDER_ABOVE = (None, "eager", "aot_eager", "aot_eager_decomp_partition")

_built: set[str] = set()


def needed(request: Request) -> dict[str, Any]:
    """Settings of this request for which ``build`` has to run first; each combination once a server."""
    merged = {**request.configuration.get("inductor", {}), **request.patches.get("inductor", {})}
    settings = {key: merged[key] for key in FLAGS if key in merged}
    name = repr(sorted(settings.items()))
    if request.backend in _LADDER_ABOVE or name in _built:
        return {}
    _built.add(name)
    return settings


def build(settings: dict[str, Any]) -> None:
    """Compile something trivial with these settings, and so the header."""
    import torch._inductor.config as inductor

    with inductor.patch(settings):
        warmup.compile_trivial()


def protect() -> None:
    """In the server, before it compiles: a run takes its locks in its own scratch and builds there what the shared folder lacks."""
    from torch._inductor import codecache

    shared: Any = getattr(codecache, "_precompile_header", None)
    if shared is None or not hasattr(codecache, "_HEADER_DIR"):
        return

    shelf.hold(os.environ["WORKBENCH_HEADERS"], codecache._HEADER_DIR)

    def either(*arguments: Any, **settings: Any) -> Any:
        scratch = os.environ["TMPDIR"]
        if scratch == os.environ["WORKBENCH_HEADERS"]:  # no run: ``build``
            header: str = shared(*arguments, **settings)
            shelf.mark(header)
            return header
        codecache._HEADER_LOCK_DIR = os.path.join(scratch, "locks")
        try:
            return shared(*arguments, **settings)
        except Exception:  # the folder is read-only here: PermissionError, or the compiler's own complaint
            codecache._HEADER_DIR = os.path.join(scratch, "headers")
            return shared(*arguments, **settings)

    replaced: Any = functools.update_wrapper(either, shared)
    replaced.cache_clear, replaced.cache_info = shared.cache_clear, shared.cache_info
    codecache._precompile_header = replaced
