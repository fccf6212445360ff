"""Modes that a program may leave on, and the state of the random generators after it."""

from __future__ import annotations

import hashlib
import random
import sys
from typing import Any

import torch

from .observe import name_of, raw_bytes


def modes() -> dict[str, Any]:
    """Modes as they are now: grad, autocast, default dtype, determinism and what else a program can leave on."""
    nesting = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast_cpu": torch.is_autocast_enabled("cpu"),
        "autocast_dtype": name_of(torch.get_autocast_dtype("cpu")),
        "autocast_nesting": nesting,
        "autocast_cache": torch.is_autocast_cache_enabled(),
        "autocast_cuda": torch.is_autocast_enabled("cuda"),
        "default_dtype": name_of(torch.get_default_dtype()),
        "default_device": _default_device(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "fill_uninitialized": bool(torch.utils.deterministic.fill_uninitialized_memory),  # type: ignore[attr-defined]
        "matmul_precision": torch.get_float32_matmul_precision(),
        "warn_always": torch.is_warn_always_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "multithreading": torch._C._is_multithreading_enabled(),
        "saved_tensors_hooks": torch._C._autograd._top_saved_tensors_default_hooks(True) is not None,  # noqa: FBT003
        "function_modes": torch._C._len_torch_function_stack(),
        "dispatch_modes": torch._C._len_torch_dispatch_stack(),
    }


class Restore:
    """Leaves the modes as they were: what one execution leaves on must not reach the next in the same process."""

    def __enter__(self) -> None:
        self.before = modes()

    def __exit__(self, *_: object) -> None:
        before = self.before
        while torch._C._len_torch_function_stack() > before["function_modes"]:
            torch._C._pop_torch_function_stack()
        while torch._C._len_torch_dispatch_stack() > before["dispatch_modes"]:
            torch._C._pop_torch_dispatch_stack()
        torch.set_grad_enabled(before["grad"])
        torch.set_autocast_enabled("cpu", before["autocast_cpu"])
        torch.set_autocast_dtype("cpu", getattr(torch, before["autocast_dtype"]))
        torch.set_autocast_cache_enabled(before["autocast_cache"])
        torch.clear_autocast_cache()
        while modes()["autocast_nesting"] > before["autocast_nesting"]:
            torch.autocast_decrement_nesting()
        torch.set_default_dtype(getattr(torch, before["default_dtype"]))
        torch.use_deterministic_algorithms(before["deterministic"], warn_only=before["deterministic_warn_only"])
        torch.set_float32_matmul_precision(before["matmul_precision"])
        torch.set_warn_always(before["warn_always"])


def _default_device() -> str:
    try:
        return str(torch.get_default_device())
    except Exception as error:
        return type(error).__name__


def generators() -> dict[str, Any]:
    """Hashes of the states of torch's, Python's and numpy's global generators."""
    state = torch.get_rng_state()
    numpy = sys.modules.get("numpy")
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    return {
        "torch": _digest(b"".join(raw_bytes(part) for part in (state, *devices))),
        "python": _digest(repr(random.getstate()).encode()),
        "numpy": _digest(_numpy_state(numpy)) if numpy is not None else None,
    }


def _numpy_state(numpy: Any) -> bytes:
    name, keys, *rest = numpy.random.get_state()
    return repr((name, rest)).encode() + bytes(keys.tobytes())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
