"""Applying a configuration inside a runner child: config patches, threads, device, and the arguments of torch.compile."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .program import Invalid
from .protocol import Request

CONFIG_MODULES = {"inductor": "torch._inductor.config", "dynamo": "torch._dynamo.config"}


def apply(request: Request) -> None:
    """Set threads and config patches of this run; ``Invalid`` for a device that is not there or an option that does not exist."""
    configuration = request.configuration
    check_device(str(configuration.get("device", "cpu")))
    threads = int(configuration.get("threads", 1))
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    for group in CONFIG_MODULES:
        patches = {**(configuration.get(group) or {}), **(request.patches.get(group) or {})}
        if patches:
            patch(group, patches)


def patch(group: str, patches: Mapping[str, Any]) -> None:
    """Set options of ``torch._<group>.config`` by their dotted names, for the life of this child."""
    config = importlib.import_module(CONFIG_MODULES[group])
    known = list(config._config)
    for name, value in patches.items():
        if name not in known:
            raise invalid(f'torch has no option "{name}" in {CONFIG_MODULES[group]}', name, known)
        try:
            setattr(config, name, value)
        except Exception as error:
            raise invalid(f'option "{name}" of {CONFIG_MODULES[group]} cannot be set to {value!r}: {error}') from error


def check_device(device: str) -> None:
    """``Invalid`` unless this torch can put tensors on ``device``."""
    try:
        wanted = torch.device(device)
    except RuntimeError as error:
        raise invalid(f'device "{device}" is none that torch knows') from error
    if wanted.type in ("cpu", "meta"):
        return
    accelerator = getattr(torch, wanted.type, None)
    available = getattr(accelerator, "is_available", None)
    if wanted.type == "cuda" and torch.version.cuda is None and torch.version.hip is None:
        raise invalid(f'device "{device}": torch {torch.__version__} is built without CUDA (--python names an interpreter with another torch)')
    if available is None or not available():
        raise invalid(f'device "{device}": torch {torch.__version__} finds no {wanted.type} device on this machine')
    count = getattr(accelerator, "device_count", lambda: 1)()
    if wanted.index is not None and wanted.index >= count:
        raise invalid(f'device "{device}": this machine has {count}, counted from 0')


def compiled(function: Callable[..., Any], request: Request) -> Callable[..., Any]:
    """``torch.compile(function, ...)`` as the configuration and the backend of this run say."""
    backend = request.backend or "eager"
    check_backend(backend)
    configuration = request.configuration
    arguments: dict[str, Any] = {
        "backend": backend,
        "dynamic": configuration.get("dynamic"),
        "fullgraph": bool(configuration.get("fullgraph", False)),
    }
    mode = configuration.get("mode", "default")
    if backend == "inductor" and mode not in (None, "default"):  # other backends take no mode
        if mode not in torch._inductor.list_mode_options():
            raise invalid(f'torch has no compile mode "{mode}"', str(mode), list(torch._inductor.list_mode_options()))
        arguments["mode"] = mode
    return torch.compile(function, **arguments)


def check_backend(backend: str) -> None:
    """``Invalid`` unless torch knows a backend of this name."""
    known = torch._dynamo.list_backends(exclude_tags=())
    if backend not in known:
        raise invalid(f'torch has no compile backend "{backend}"', backend, known)


def invalid(message: str, name: str = "", known: list[str] | None = None) -> Invalid:
    """An ``Invalid`` about the configuration, with the nearest known names."""
    near = difflib.get_close_matches(name, known or [], n=3)
    if near:
        message += f" (did you mean {', '.join(near)}?)"
    return Invalid("import", message, name="ConfigurationError")
