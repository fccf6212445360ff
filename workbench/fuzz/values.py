"""What a traced program's tensors were: the facts that mutators choose by. Read from the runner's ``trace`` document, never from torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from store.records import JSON

FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
HALVES = frozenset({"float16", "bfloat16"})
COMPLEX = frozenset({"complex64", "complex128"})
INTEGERS = frozenset({"uint8", "int8", "int16", "int32", "int64"})


@dataclass(frozen=True, slots=True)
class Value:
    """One local tensor as the trace saw it.

    position: of a parameter of its function, else None
    storage:  equal for tensors that share memory; -1 when there is none
    integral: all elements were whole numbers (False when it was not looked at); low and high are the range then
    """

    name: str
    function: str
    line: int
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] = ()
    offset: int = 0
    storage: int = -1
    numel: int = 0
    contiguous: bool = True
    requires_grad: bool = False
    leaf: bool = True
    integral: bool = False
    low: float | None = None
    high: float | None = None
    kind: str = "Tensor"
    position: int | None = None

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Value:
        """One entry of ``values`` in a trace document."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        known["shape"] = tuple(known["shape"])
        known["stride"] = tuple(known.get("stride", ()))
        return cls(**known)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def floating(self) -> bool:
        return self.dtype in FLOATS

    @property
    def integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def numeric(self) -> bool:
        """A real number type: neither bool nor complex."""
        return self.floating or self.integer

    @property
    def plain(self) -> bool:
        """An ordinary strided tensor, no subclass."""
        return self.kind in ("Tensor", "Parameter") and self.storage >= 0

    @property
    def expanded(self) -> bool:
        """Several indices share an element."""
        return any(step == 0 and size > 1 for size, step in zip(self.shape, self.stride, strict=False))

    @property
    def writable(self) -> bool:
        """An in-place write works in eager, and in a backward that a compiler traces ahead: no expanded memory, nothing that requires grad."""
        return self.kind == "Tensor" and self.storage >= 0 and not self.expanded and not self.requires_grad

    @property
    def small(self) -> bool:
        """Small enough that what is made of it stays cheap."""
        return 0 < self.numel <= 2048


def aliases(values: Sequence[Value], value: Value) -> list[Value]:
    """The other values that share its memory."""
    return [v for v in values if v.storage == value.storage >= 0 and v.name != value.name]
