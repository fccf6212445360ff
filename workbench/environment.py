"""The environment of a server: a list of names that may pass, everything else left behind. No keys, no settings of torch."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from workbench.runner import layers, spawn

ALLOWED = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TZ",
        "CC",
        "CXX",
        "CPATH",
        "LIBRARY_PATH",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "PYTHONHOME",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "ATEN_CPU_CAPABILITY",
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_VISIBLE_DEVICES",
        "ROCM_HOME",
        "HIP_VISIBLE_DEVICES",
        "SDKROOT",
        "DEVELOPER_DIR",
    }
)
"""What an interpreter, a compiler and a device driver need to be found."""

FIXED: Mapping[str, str] = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # tcache_count: M_PERTURB does not reach blocks that the thread cache hands out. hugetlb=1 (huge pages where the kernel likes): a fork copies
    # fewer page tables; an eager run takes 30 ms of CPU instead of 50, a compiled one 0.97 s instead of 1.05.
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.hugetlb=1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # or asking whether there is a GPU would already spoil forked children for it
    "LOGNAME": "workbench",  # part of the header folder's name, and must not change with the user namespace
}

LINKERS = ("mold", "ld.gold")
"""Faster than GNU ld, the faster first: a check 0.97 s with ld, 0.84 with gold, 0.74 with mold (tests/benchmarks)."""


def clean(python: str, folder: Path, without: tuple[str, ...] = ()) -> dict[str, str]:
    """The whole environment of a server that lives in ``folder``."""
    environment = {name: value for name, value in os.environ.items() if name in ALLOWED}
    environment |= FIXED
    environment["TMPDIR"] = environment["WORKBENCH_HEADERS"] = str(header_folder())  # torch takes the place of headers from it, at import
    environment["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
    environment["TRITON_CACHE_DIR"] = str(folder / "triton")
    if os.environ.get(spawn.VARIABLE):
        environment[spawn.VARIABLE] = os.environ[spawn.VARIABLE]
    if without:
        environment[layers.VARIABLE] = ",".join(without)
    compiler_path = linker_folder(folder)
    if compiler_path:
        environment["COMPILER_PATH"] = str(compiler_path)
    return environment


def header_folder() -> Path:
    """Where precompiled headers are kept for this user, so that only the first compile on a machine pays for them."""
    folder = Path(platformdirs.user_cache_path("torch-compile-workbench")) / "headers"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def linker() -> str | None:
    """The fastest linker on PATH that g++ can be led to, or None: plain ld."""
    for name in LINKERS:
        found = shutil.which(name)
        if found:
            return found
    return None


def linker_folder(folder: Path) -> Path | None:
    """A folder with an ``ld`` that is the faster linker: g++ looks there first when COMPILER_PATH names it."""
    found = linker()
    if found is None:
        return None
    place = folder / "linker"
    place.mkdir(exist_ok=True)
    link = place / "ld"
    if not link.is_symlink():
        link.symlink_to(found)
    return place
