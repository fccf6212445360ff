"""Observations: every tensor of a run as a leaf with its raw bytes, every Python value as a canonical description (DESIGN §3)."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._functorch import pyfunctorch
from torch.utils import _python_dispatch

from .describe import Describer

LARGE = 4 * 2**20
"""Bytes from which a tensor that nothing changed is recorded by its digest alone: parameters of some hundred MB stay where they are."""


@dataclass(slots=True)
class Leaf:
    """One observed tensor.

    tensor: the object that the program holds
    plain:  the same memory without subclass, autograd, conj or neg; None where there are no dense elements to read
    entry:  its object in the result document
    untouched: large and unchanged by the run: only its digest is in the entry
    """

    path: str
    tensor: torch.Tensor
    plain: torch.Tensor | None
    entry: dict[str, Any]
    untouched: bool = False


class Recorder:
    """Collects the leaves, descriptions and bytes of one run, section by section.

    known: digests that large tensors had before the run, by ``id``; one that still has it is recorded without its bytes
    """

    def __init__(self, *, keep_bytes: bool = True, known: dict[int, str] | None = None) -> None:
        self.keep_bytes = keep_bytes
        self.known = known or {}
        self.leaves: list[Leaf] = []
        self.blobs = bytearray()
        self.python: dict[str, Any] = {}
        self._first: dict[int, Leaf] = {}
        self._at: dict[str, Leaf] = {}
        self._places: dict[Any, list[int]] = {}

    def section(self, name: str, value: Any) -> None:
        """Describe ``value`` as section ``name`` of the document; its tensors become leaves below that path."""
        self.python[name] = Describer(self.leaf).describe(value, name)

    def leaf(self, tensor: torch.Tensor, path: str) -> dict[str, Any]:
        """Record one tensor; what stands for it in a description."""
        if path in self._at:
            return {"tensor": path}
        entry: dict[str, Any] = {"path": path, "class": type(tensor).__qualname__}
        leaf = Leaf(path, tensor, None, entry)
        self._at[path] = leaf
        self.leaves.append(leaf)
        first = self._first.setdefault(id(tensor), leaf)
        if first is not leaf:
            entry["same"] = first.path
        try:
            self._fill(leaf)
        except Exception as error:  # an exotic tensor may refuse any question
            entry.update(kind="unreadable", dtype=entry.get("dtype", "unknown"), shape=entry.get("shape", []))
            entry["unreadable"] = f"{type(error).__name__}: {error}"[:300]
        return {"tensor": path}

    def _fill(self, leaf: Leaf) -> None:
        tensor, entry = leaf.tensor, leaf.entry
        with torch._C.DisableTorchFunctionSubclass():
            entry.update(kind=kind_of(tensor), dtype=name_of(tensor.dtype), device=str(tensor.device))
            shape = [] if entry["kind"] == "nested" else [_size(s) for s in tensor.shape]
            entry.update(shape=shape, requires_grad=bool(tensor.requires_grad))
            if entry["kind"] != "dense":
                self._parts(leaf)
                return
            entry.update(stride=[_size(s) for s in tensor.stride()], offset=_size(tensor.storage_offset()))
            plain = tensor.detach()
            leaf.plain = plain if type(plain) is torch.Tensor else plain.as_subclass(torch.Tensor)
            digest = digest_of_large(leaf.plain)
            if digest is not None:
                entry["digest"] = digest
            leaf.untouched = digest is not None and self.known.get(id(tensor)) == digest
            if self.keep_bytes and not leaf.untouched:
                entry["blob"] = self._place(leaf.plain)

    def _parts(self, leaf: Leaf) -> None:
        for name, part in parts_of(leaf.tensor, leaf.entry["kind"]):
            self.leaf(part, f"{leaf.path}.{name}")

    def blob(self, tensor: torch.Tensor) -> list[int]:
        """Append the elements in C order; [offset, bytes] of them."""
        start = len(self.blobs)
        self.blobs += raw_bytes(tensor)
        return [start, len(self.blobs) - start]

    def _place(self, plain: torch.Tensor) -> list[int]:
        """Like ``blob``, once for tensors that are the same view of the same memory; only for tensors that a leaf keeps alive."""
        view = (plain.data_ptr(), plain.device, plain.dtype, plain.shape, plain.stride(), plain.is_conj(), plain.is_neg())
        if view not in self._places:
            self._places[view] = self.blob(plain)
        return self._places[view]


def digest_of_large(plain: torch.Tensor) -> str | None:
    """A digest of the elements of a large dense tensor in host memory; None for others."""
    if plain.device.type != "cpu" or plain.numel() * plain.element_size() < LARGE:
        return None
    dense = plain.resolve_conj().resolve_neg().contiguous()
    raw = (ctypes.c_char * (dense.numel() * dense.element_size())).from_address(dense.data_ptr())
    return hashlib.sha256(raw).hexdigest()


def digests(tensors: Iterable[torch.Tensor]) -> dict[int, str]:
    """The digests of the large ones among ``tensors``, by ``id``."""
    found: dict[int, str] = {}
    for tensor in tensors:
        with contextlib.suppress(Exception), torch._C.DisableTorchFunctionSubclass():
            if kind_of(tensor) == "dense" and (digest := digest_of_large(tensor.detach())) is not None:
                found[id(tensor)] = digest
    return found


def kind_of(tensor: torch.Tensor) -> str:
    """``dense`` when the elements can be read as they are, else what kind of tensor it is."""
    if torch._is_functional_tensor(tensor):
        return "functional"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "functorch"
    if _python_dispatch.is_traceable_wrapper_subclass(tensor):
        return "subclass"
    if type(tensor).__name__ == "FakeTensor":
        return "fake"
    if tensor.is_nested:
        return "nested"
    if tensor.layout is not torch.strided:
        return str(tensor.layout).removeprefix("torch.")
    if tensor.is_quantized:
        return "quantized"
    if tensor.is_meta:
        return "meta"
    return "dense"


def parts_of(tensor: torch.Tensor, kind: str) -> list[tuple[str, torch.Tensor]]:
    """The dense tensors that a composite one consists of."""
    if kind == "functorch":
        return [("value", torch._C._functorch.get_unwrapped(tensor))]
    plain = tensor.detach()
    if kind == "subclass":
        return [(name, getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0]]  # type: ignore[attr-defined]
    if kind == "sparse_coo":
        return [("indices", plain._indices()), ("values", plain._values())]
    if kind in ("sparse_csr", "sparse_bsr"):
        return [("crow_indices", plain.crow_indices()), ("col_indices", plain.col_indices()), ("values", plain.values())]
    if kind in ("sparse_csc", "sparse_bsc"):
        return [("ccol_indices", plain.ccol_indices()), ("row_indices", plain.row_indices()), ("values", plain.values())]
    if kind == "quantized":
        return [("int_repr", plain.int_repr())]
    if kind == "nested":
        return [(f"parts[{i}]", t) for i, t in enumerate(plain.unbind())]
    if kind == "_mkldnn":
        return [("dense", plain.to_dense())]
    return []


def name_of(dtype: torch.dtype) -> str:
    """``float32`` for torch.float32."""
    return str(dtype).removeprefix("torch.")


def raw_bytes(tensor: torch.Tensor) -> bytes:
    """The elements in C order, conj and neg resolved, as bytes in host memory."""
    dense = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    size = dense.numel() * dense.element_size()
    return ctypes.string_at(dense.data_ptr(), size) if size else b""


def _size(value: Any) -> int:
    return int(value)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Look at tensors whatever modes the program left on: no dispatch or function mode, no autocast, no gradients, no vmap around us."""
    with contextlib.ExitStack() as stack:
        if torch._C._functorch.peek_interpreter_stack() is not None:
            stack.enter_context(pyfunctorch.temporarily_clear_interpreter_stack())
        stack.enter_context(torch._C.DisableTorchFunction())
        stack.enter_context(_python_dispatch._disable_current_modes())
        stack.enter_context(torch.no_grad())
        for device in ("cpu", "cuda"):
            stack.enter_context(torch._C._DisableAutocast() if device == "cpu" else contextlib.nullcontext())
        yield
