"""A dispatch mode that fills fresh, uninitialised memory with one byte: the fallback where the allocator has no poison of its own.

Sees what the program allocates, not what kernels or compiled code do; glibc's ``M_PERTURB`` sees all three and is used where there is glibc.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from .node import abstract, desugars, operator, plain

UNINITIALISED = frozenset({"empty", "empty_strided", "empty_permuted", "empty_like", "new_empty", "new_empty_strided"})


class Poison(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Enter it around an eager run. ``counts``: how many tensors were filled."""

    supports_higher_order_operators = True

    def __init__(self, byte: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts = {"filled": 0}
        self._byte = byte

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(desugars(t) for t in types):
            return func(*args, **(kwargs or {})) if any(abstract(t) for t in types) else NotImplemented
        base = operator(func).base
        before = args[0].untyped_storage().nbytes() if base == "resize" and plain(args[0]) else 0
        output = func(*args, **(kwargs or {}))
        if (base in UNINITIALISED or base == "resize") and isinstance(output, Tensor) and plain(output):
            self._fill(output, before)
        return output

    def _fill(self, tensor: Tensor, start: int) -> None:
        memory = tensor.untyped_storage()
        if memory.nbytes() > start:
            memory[start:].fill_(self._byte)
            self.counts["filled"] += 1
