"""Canonical descriptions of Python values: plain JSON, equal for equal values in two processes, never an address.

None, bool, int, str and list stand for themselves; everything else is an object with one tag: ``{"float": "nan"}``, ``{"tuple": [...]}``,
``{"dict": [[key, value], ...]}``, ``{"tensor": path}``, ``{"object": class, "attributes": {...}}``, ``{"truncated": n}`` ...
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import hashlib
import random
import types
from collections.abc import Callable
from typing import Any

import torch

DEPTH_LIMIT = 16
OBJECT_DEPTH_LIMIT = 5
ITEM_LIMIT = 1000
NODE_LIMIT = 20_000
TEXT_LIMIT = 10_000

PLAIN_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType, types.WrapperDescriptorType)

MACHINERY = ("_ops", "library", "_library", "_dynamo", "_inductor", "_functorch", "_higher_order_ops", "fx", "jit", "export")
"""Parts of torch whose objects (operators, custom operators, what a compile leaves) fill caches of their own as they are used."""


class State(dict[str, Any]):
    """Named state that is no object of the program's: its globals, what a callable closes over. Described as ``{"state": {name: ...}}``."""


class Describer:
    """Walks Python values. Tensors go to ``on_tensor(tensor, path)``, whose answer stands in their place.

    One describer serves one observation: an object met on the way down to itself becomes ``{"cycle": first path}``.
    """

    def __init__(self, on_tensor: Callable[[torch.Tensor, str], Any]) -> None:
        self.on_tensor = on_tensor
        self.nodes = 0
        self._above: dict[int, str] = {}

    def describe(self, value: Any, path: str, depth: int = 0, objects: int = 0) -> Any:
        """The canonical description of ``value``, which stands at ``path``."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        self.nodes += 1
        if self.nodes > NODE_LIMIT or depth > DEPTH_LIMIT:
            return {"truncated": kind.__qualname__}
        simple = SIMPLE.get(kind)
        if simple is not None:
            return simple(value)
        if issubclass(kind, torch.Tensor):
            return self.on_tensor(value, path)
        if id(value) in self._above:
            return {"cycle": self._above[id(value)]}
        self._above[id(value)] = path
        try:
            return self._composite(value, kind, path, depth, objects)
        except Exception as error:  # a user's class may raise from anything we ask of it
            return {"object": kind.__qualname__, "unreadable": type(error).__name__}
        finally:
            del self._above[id(value)]

    def _composite(self, value: Any, kind: type, path: str, depth: int, objects: int) -> Any:
        if kind is State:
            return {"state": {name: self.describe(item, f"{path}.{name}", depth + 1, objects) for name, item in value.items()}}
        if issubclass(kind, enum.Enum):
            return {"enum": f"{kind.__qualname__}.{value.name}"}
        if issubclass(kind, list):
            return self._tagged(kind, list, self._items(value, path, depth, objects), value, path, depth, objects)
        if issubclass(kind, tuple):
            return self._tuple(value, kind, path, depth, objects)
        if issubclass(kind, dict) or kind is types.MappingProxyType:
            return self._dict(value, kind, path, depth, objects)
        if issubclass(kind, set | frozenset):
            return {kind.__qualname__: sorted((self.describe(v, f"{path}{{}}", depth + 1, objects) for v in value), key=repr)}
        if issubclass(kind, collections.deque):
            return {"deque": self._items(value, path, depth, objects), "maxlen": value.maxlen}
        if kind is slice or kind is range:
            return {kind.__name__: [self.describe(v, path, depth + 1) for v in (value.start, value.stop, value.step)]}
        if issubclass(kind, int | float | complex | str | bytes):
            base = next(b for b in (int, float, complex, str, bytes) if issubclass(kind, b))
            attributes = self._attributes(value, path, depth, objects)
            return {"object": kind.__qualname__, "value": SIMPLE[base](base(value)), "attributes": attributes}
        return self._other(value, kind, path, depth, objects)

    def _tagged(self, kind: type, base: type, items: Any, value: Any, path: str, depth: int, objects: int) -> Any:
        if kind is base:
            return items
        return {"object": kind.__qualname__, base.__name__: items, "attributes": self._attributes(value, path, depth, objects)}

    def _items(self, value: Any, path: str, depth: int, objects: int) -> list[Any]:
        items: list[Any] = []
        for index, item in enumerate(value):
            if index == ITEM_LIMIT:
                items.append({"truncated": len(value) - index})
                break
            items.append(self.describe(item, f"{path}[{index}]", depth + 1, objects))
        return items

    def _tuple(self, value: Any, kind: type, path: str, depth: int, objects: int) -> Any:
        names = getattr(kind, "_fields", None)
        if isinstance(names, tuple):
            fields = {str(n): self.describe(getattr(value, n), f"{path}.{n}", depth + 1, objects) for n in names}
            return {"namedtuple": kind.__qualname__, "fields": fields}
        items = self._items(value, path, depth, objects)
        if kind.__module__.startswith("torch.return_types"):
            return {"namedtuple": kind.__qualname__, "items": items}
        if issubclass(kind, torch.Size):
            return {"size": items}
        return self._tagged(kind, tuple, items, value, path, depth, objects) if kind is not tuple else {"tuple": items}

    def _dict(self, value: Any, kind: type, path: str, depth: int, objects: int) -> Any:
        pairs: list[Any] = []
        for index, (key, item) in enumerate(list(value.items())):
            if index == ITEM_LIMIT:
                pairs.append({"truncated": len(value) - index})
                break
            name = key if type(key) is str else None
            described = self.describe(key, f"{path}.keys()[{index}]", depth + 1, objects)
            label = repr(name) if name is not None else (repr(key) if type(key) in (int, bool, float) else f"keys()[{index}]")
            pairs.append([described, self.describe(item, f"{path}[{label}]", depth + 1, objects)])
        return {"dict": pairs} if kind is dict else {"dict": pairs, "class": kind.__qualname__}

    def _other(self, value: Any, kind: type, path: str, depth: int, objects: int) -> Any:
        if issubclass(kind, torch.nn.Module):
            return {"nn.Module": kind.__qualname__}
        if issubclass(kind, torch.Generator):
            return {"generator": hashlib.sha256(bytes(value.get_state().tolist())).hexdigest()[:16]}
        if issubclass(kind, random.Random):
            return {"random": hashlib.sha256(repr(value.getstate()).encode()).hexdigest()[:16]}
        if issubclass(kind, type):
            return {"class": value.__qualname__}
        if issubclass(kind, PLAIN_FUNCTIONS):
            return {"function": getattr(value, "__qualname__", kind.__qualname__)}
        if issubclass(kind, types.ModuleType):
            return {"module": value.__name__}
        if issubclass(kind, torch.SymInt | torch.SymFloat | torch.SymBool):
            return {"symbolic": kind.__qualname__}
        if kind.__module__.split(".")[0] == "numpy":
            return self._numpy(value, kind, path)
        if issubclass(kind, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
            return {"operator": str(value)}
        if kind.__module__.startswith("torch.") and kind.__module__.split(".")[1] in MACHINERY:
            return {"object": kind.__qualname__}
        if issubclass(kind, BaseException):
            return {"exception": kind.__qualname__, "arguments": self._items(value.args, f"{path}.args", depth, objects)}
        if objects >= OBJECT_DEPTH_LIMIT:
            return {"object": kind.__qualname__, "truncated": "depth"}
        tag = "dataclass" if dataclasses.is_dataclass(kind) else "object"
        return {tag: kind.__qualname__, "attributes": self._attributes(value, path, depth, objects)}

    def _numpy(self, value: Any, kind: type, path: str) -> Any:
        if hasattr(value, "__array__") and value.dtype.kind in "biufc":
            tensor = torch.from_numpy(value.copy() if kind.__name__ == "ndarray" else value.reshape(1).copy().reshape(()))
            return {"numpy": kind.__name__, "dtype": str(value.dtype), "value": self.on_tensor(tensor, path)}
        return {"numpy": kind.__name__, "value": repr(value)[:TEXT_LIMIT]}

    def _attributes(self, value: Any, path: str, depth: int, objects: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, item in attributes_of(value).items():
            found[name] = self.describe(item, f"{path}.{name}", depth + 1, objects + 1)
        return found


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds in ``__dict__`` and ``__slots__``; no property is called."""
    found: dict[str, Any] = {}
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            if not name.startswith("__") and isinstance(base.__dict__.get(name), types.MemberDescriptorType):
                try:
                    found[name] = object.__getattribute__(value, name)
                except AttributeError:
                    continue
    try:
        names = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return found
    found.update((n, v) for n, v in list(names.items())[:ITEM_LIMIT] if type(n) is str and not n.startswith("__"))
    return found


def _integer(value: int) -> Any:
    return value if value.bit_length() <= 8192 else {"int": hex(value)[:TEXT_LIMIT], "bits": value.bit_length()}


def _text(value: str) -> Any:
    if len(value) <= TEXT_LIMIT:
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return {"str": value[:TEXT_LIMIT], "length": len(value), "sha256": digest}


def _bytes(value: bytes) -> Any:
    return {"bytes": value[:TEXT_LIMIT].hex(), "length": len(value), "sha256": hashlib.sha256(value).hexdigest()}


SIMPLE: dict[type, Callable[[Any], Any]] = {
    int: _integer,
    float: lambda v: {"float": repr(v)},
    complex: lambda v: {"complex": [repr(v.real), repr(v.imag)]},
    str: _text,
    bytes: _bytes,
    bytearray: lambda v: {"bytearray": bytes(v[:TEXT_LIMIT]).hex(), "length": len(v)},
    torch.dtype: lambda v: {"dtype": str(v).removeprefix("torch.")},
    torch.device: lambda v: {"device": str(v)},
    torch.layout: lambda v: {"layout": str(v)},
    torch.memory_format: lambda v: {"memory_format": str(v)},
    type(Ellipsis): lambda _: {"ellipsis": True},
    type(NotImplemented): lambda _: {"notimplemented": True},
}
"""Exact types whose description needs no walk."""
