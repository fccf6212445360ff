"""Which files a program may read and write under Landlock: what an interpreter, torch and a compiler need, and its own scratch."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Collection

from .layers import MOUNTS, PROCESSES
from .protocol import Request

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store", "/run/current-system", "/sys")
_SETTINGS = (
    "/etc/alternatives /etc/group /etc/host.conf /etc/hosts /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/ld.so.preload /etc/localtime "
    "/etc/nsswitch.conf /etc/os-release /etc/passwd /etc/ssl /etc/timezone /etc/OpenCL /etc/vulkan"
)
"""Of /etc only what loaders, compilers and the C library look at: root's runner could read the rest."""
_PROCESS = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel", "/proc/sys/vm", "/proc/filesystems")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ACCELERATORS = ("/dev/nvidia*", "/dev/kfd", "/dev/dri")
_LISTS = ("PATH", "COMPILER_PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH")
_FOLDERS = ("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "CONDA_PREFIX", "VIRTUAL_ENV")


def readable(request: Request, have: Collection[str]) -> list[str]:
    """Absolute paths; in profile own also the program's folder and HOME. ``have``: the layers in force."""
    found = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, os.path.dirname(os.path.realpath(sys.executable))}
    found |= {*sys.path, os.path.dirname(os.path.abspath(__file__)), headers()}
    for name in _LISTS:
        found |= set(os.environ.get(name, "").split(os.pathsep))
    found |= {os.environ.get(name, "") for name in _FOLDERS}
    torch = sys.modules.get("torch")
    if torch is not None and torch.__file__:
        found.add(os.path.dirname(torch.__file__))
    if request.profile == "own":
        found |= {request.folder or "", os.path.dirname(request.filename), os.environ.get("HOME", "")}
    processes = ["/proc"] if {MOUNTS, PROCESSES} <= set(have) else _PROCESS
    return [*_SYSTEM, *_SETTINGS.split(), *processes, *sorted(place for place in found if place.startswith("/") and place != "/")]


def writable(request: Request, have: Collection[str]) -> list[str]:
    """Scratch, harmless devices, accelerators, and /dev/shm where it is the run's own."""
    accelerators = [path for pattern in _ACCELERATORS for path in glob.glob(pattern)]
    return [request.scratch, *_DEVICES, *accelerators, *(["/dev/shm"] if {MOUNTS, PROCESSES} <= set(have) else [])]


def headers() -> str:
    """The folder that torch took as temp directory at import: precompiled headers lie beneath it."""
    return os.environ.get("WORKBENCH_HEADERS", "")
