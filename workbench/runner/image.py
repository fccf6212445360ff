"""A flat float64 image per storage: what its elements would be without rounding. Read by ``as_strided``, so views need no replay.

An image knows the memory that it stands for by checksum: a write that no mode saw (numpy, a foreign kernel) is found at the next read and the
image starts again from the primal. Never keeps a storage of the program alive and never writes to one.
"""

from __future__ import annotations

import ctypes
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from .node import floating, real_dtype, storage_key
from .replay import upcast

SWEEP_BYTES = 1 << 24


@dataclass(slots=True)
class Image:
    """Of one storage.

    reference: weak; while it is held the address is not given to another storage
    flat:      float64, one element per (real) element of the storage; None until somebody reads
    dtype:     of the elements in memory, ``float32`` for complex64
    same:      equals the primal everywhere
    exact:     every element comes from exact nodes only
    produced:  made by a node, not handed in from outside
    checksum:  of the memory when the image was last right
    """

    reference: StorageWeakRef
    flat: Tensor | None = None
    dtype: torch.dtype | None = None
    same: bool = True
    exact: bool = True
    produced: bool = False
    checksum: int = 0


class Images:
    """All images of one run. ``counts`` says how often one had to start again, and why; ``leaf`` hears of every tensor read that no node made."""

    def __init__(self, counts: Counter[str], leaf: Callable[[Tensor], None] = lambda _: None) -> None:
        self._images: dict[int, Image] = {}
        self._grown = 0
        self._sweep_at = SWEEP_BYTES
        self._counts = counts
        self._leaf = leaf

    def entry(self, tensor: Tensor) -> Image:
        """The image of the tensor's storage, perhaps without elements yet."""
        key = storage_key(tensor)
        image = self._images.get(key)
        if image is None:
            self._grown += 256 + 8 * tensor.untyped_storage().nbytes() // tensor.element_size()
            if self._grown > self._sweep_at:
                self._sweep()
            image = self._images[key] = Image(StorageWeakRef(tensor.untyped_storage()))  # type: ignore[no-untyped-call]
        return image

    def produced(self, tensor: Tensor) -> Image:
        """Notes that a node made the storage."""
        image = self.entry(tensor)
        image.produced = True
        return image

    def exact(self, tensor: Tensor) -> bool:
        """Only exact nodes had a part in the tensor's storage; True for tensors never seen."""
        image = self._images.get(storage_key(tensor))
        return image is None or image.exact

    def same(self, tensor: Tensor) -> bool:
        """What ``read`` gives equals the primal."""
        image = self.entry(tensor)
        return image.same or image.dtype != real_dtype(tensor)

    def read(self, tensor: Tensor) -> Tensor:
        """A view of the image, shaped like the tensor, conj and neg bits as on the tensor; write to it to write to the image.

        A tensor that reads float32 memory as another float type gets a copy of its own: nothing in float64 corresponds to it.
        """
        image = self.entry(tensor)
        if image.flat is not None and image.dtype != real_dtype(tensor):
            self._counts["dtype_view"] += 1
            return upcast(tensor)
        self._refresh(image, tensor)
        assert image.flat is not None
        return _view(image.flat, tensor)

    def written(self, tensor: Tensor, *, same: bool, exact: bool, whole: bool) -> None:
        """The image is right for what the memory holds now. ``whole``: every element of the storage was written."""
        image = self.entry(tensor)
        image.same = same and (image.same or whole)
        image.exact = exact and (image.exact or whole)
        image.checksum = _checksum(tensor)

    def store(self, tensor: Tensor, value: Tensor, *, same: bool, exact: bool) -> None:
        """Makes ``value`` the image of the tensor's elements.

        Where two of them are one place in memory, which write came last is the primal's to say: the whole image starts again.
        """
        image = self.entry(tensor)
        if overlaps(tensor):
            self._begin(image, tensor, values=True)
            image.exact = image.exact and exact
            return
        whole = covers(tensor)
        elements = tensor.untyped_storage().nbytes() // real_dtype(tensor).itemsize
        if image.flat is None or image.dtype != real_dtype(tensor) or image.flat.numel() != elements:
            self._begin(image, tensor, values=not whole)
        assert image.flat is not None
        _view(image.flat, tensor).copy_(value)
        self.written(tensor, same=same, exact=exact, whole=whole)

    def taint(self, tensor: Tensor, *, exact: bool) -> None:
        """An integer tensor was made or written: no image is kept, only whether it is exact. A float image of the memory is dropped."""
        if exact and storage_key(tensor) not in self._images:
            return
        image = self.entry(tensor)
        image.exact = exact if covers(tensor) else image.exact and exact
        image.flat, image.same = None, True

    def _refresh(self, image: Image, tensor: Tensor) -> None:
        if image.flat is None:
            if not image.produced:
                self._leaf(tensor)
            self._begin(image, tensor, values=True)
            return
        elements = tensor.untyped_storage().nbytes() // real_dtype(tensor).itemsize
        if image.flat.numel() != elements:
            self._counts["resized"] += 1
            old = image.flat
            same = image.same
            self._begin(image, tensor, values=True)
            shared = min(old.numel(), elements)
            image.flat[:shared].copy_(old[:shared])
            image.same = same
        elif image.checksum != _checksum(tensor):
            self._counts["unseen_write"] += 1
            image.exact = False
            self._begin(image, tensor, values=True)

    def _begin(self, image: Image, tensor: Tensor, *, values: bool) -> None:
        memory = _memory(tensor)
        image.flat = upcast(memory) if values else torch.empty(memory.shape, dtype=torch.float64, device=memory.device)
        image.dtype, image.same = memory.dtype, True
        image.checksum = _checksum(tensor)

    def _sweep(self) -> None:
        """Forgets the images of storages that are gone, so that those alive and as much again bound what is held."""
        self._images = {key: image for key, image in self._images.items() if not _expired(image)}
        held = sum(256 + (0 if i.flat is None else 8 * i.flat.numel()) for i in self._images.values())
        self._grown, self._sweep_at = 0, max(SWEEP_BYTES, held)


def _expired(image: Image) -> bool:
    return bool(image.reference.expired())  # type: ignore[no-untyped-call]


def image_of(images: Images, tensor: Tensor) -> Tensor | None:
    """A copy of the image for an observer, bits resolved; None where there can be none."""
    if not floating(tensor):
        return None
    with torch.no_grad():
        return images.read(tensor.detach()).resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)


def covers(tensor: Tensor) -> bool:
    """Every element of the storage belongs to the tensor, once."""
    return tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes() and not overlaps(tensor)


def overlaps(tensor: Tensor) -> bool:
    """Two indices of the tensor are one place in memory."""
    if tensor.numel() < 2:
        return False
    reach = 0
    for stride, size in sorted((s, n) for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1):
        if stride <= reach:
            return _collides(tensor)
        reach += stride * (size - 1)
    return False


def _collides(tensor: Tensor) -> bool:
    if 0 in (s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1):
        return True
    reach = 1 + sum(s * (n - 1) for s, n in zip(tensor.stride(), tensor.shape, strict=True))
    if reach < tensor.numel():
        return True
    places = torch.zeros(1, dtype=torch.int64)
    for stride, size in zip(tensor.stride(), tensor.shape, strict=True):
        places = (places[:, None] + torch.arange(size) * stride).flatten()
    ordered = places.sort().values
    return bool((ordered[1:] == ordered[:-1]).any())


def _view(flat: Tensor, tensor: Tensor) -> Tensor:
    if not tensor.is_complex():
        view = flat.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    else:
        strides = [2 * s for s in tensor.stride()]
        view = torch.view_as_complex(flat.as_strided([*tensor.shape, 2], [*strides, 1], 2 * tensor.storage_offset()))
    if tensor.is_conj():  # the image is of raw memory: the same lazy bits on top of it
        view = view.conj()
    return torch._neg_view(view) if tensor.is_neg() else view


def _memory(tensor: Tensor) -> Tensor:
    storage = tensor.untyped_storage()
    dtype = real_dtype(tensor)
    elements = storage.nbytes() // dtype.itemsize
    return torch.empty(0, dtype=dtype, device=tensor.device).set_(storage, 0, (elements,), (1,))


def _checksum(tensor: Tensor) -> int:
    storage = tensor.untyped_storage()
    if tensor.device.type != "cpu" or storage.nbytes() == 0:
        return 0
    return zlib.crc32((ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr()))
