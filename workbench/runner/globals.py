"""The program's own state besides its tensors' owners: module globals, attributes of its classes, what its callable closes over."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .describe import PLAIN_FUNCTIONS, State, attributes_of
from .program import MODULE_NAME, Program

ADDED_BY_DYNAMO = ("__", "_torchdynamo", "_torch_dynamo", "_orig_mod", "_is_torch_compile")
"""Prefixes of names that Python or Dynamo puts beside a program's own: ``__compiled_fn_*``, ``__resume_at_*``, ``__import_*`` ..."""

MODULE_INTERNALS = frozenset(vars(torch.nn.Module())) - {"training"} | {"_compiled_call_impl", "_forward_hooks_with_kwargs"}


def state_of(program: Program) -> State:
    """What ``globals`` observes: own module globals by name, then closures and attributes of the callable."""
    found: State = State()
    for name, value in list(vars(program.module).items()):
        if name.startswith(ADDED_BY_DYNAMO) or value is program.function or _is_code(value):
            continue
        if isinstance(value, type):
            if value.__module__ in (MODULE_NAME, "__main__") and (state := class_state(value)):
                found[name] = state
        elif issubclass(type(value), torch.nn.Module):
            found[name] = module_state(value)
        else:
            found[name] = value
    if state := callable_state(program.function):
        found["fn"] = state
    return found


def _is_code(value: Any) -> bool:
    return issubclass(type(value), (types.ModuleType, *PLAIN_FUNCTIONS)) or value is annotations


def class_state(kind: type) -> State:
    """Class attributes that hold data."""
    return State((n, v) for n, v in list(vars(kind).items()) if not n.startswith("_") and _is_data(v))


def _is_data(value: Any) -> bool:
    kind = type(value)
    descriptor = hasattr(kind, "__get__") or issubclass(kind, (staticmethod, classmethod, property))
    return not (descriptor or issubclass(kind, (type, types.ModuleType, *PLAIN_FUNCTIONS)))


def callable_state(function: Callable[..., Any]) -> State:
    """Closure cells, attributes and the instance of a callable: state that a call may change and no global names."""
    found: State = State()
    if issubclass(type(function), torch.nn.Module):
        return module_state(function)  # type: ignore[arg-type]
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType | type):
        found["self"] = module_state(owner) if issubclass(type(owner), torch.nn.Module) else owner
    plain = getattr(function, "__func__", function)
    if type(plain) is types.FunctionType:
        found.update(_cells(plain))
    elif owner is None and not isinstance(plain, PLAIN_FUNCTIONS):
        found["self"] = plain
    found.update((n, v) for n, v in attributes_of(plain).items() if type(plain) is types.FunctionType and not _hidden(n, v))
    return found


def _hidden(name: str, value: Any) -> bool:
    return name.startswith(ADDED_BY_DYNAMO) or _is_code(value)


def _contents(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        with contextlib.suppress(ValueError):  # an empty cell
            yield name, cell.cell_contents


def _cells(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, value in _contents(function):
        if issubclass(type(value), torch.nn.Module):
            yield name, module_state(value)
        elif not _is_code(value) and not isinstance(value, type):
            yield name, value


def module_state(module: torch.nn.Module) -> State:
    """Plain attributes of a module and of those submodules that torch does not define; parameters and buffers are observed apart."""
    found: State = State()
    for name, part in module.named_modules():
        if part is not module and type(part).__module__.startswith("torch."):
            continue
        for key, value in list(vars(part).items()):
            if key not in MODULE_INTERNALS and not key.startswith(ADDED_BY_DYNAMO) and not _is_code(value):
                found[f"{name}.{key}" if name else key] = value
    return found


def modules_of(program: Program) -> list[tuple[str, torch.nn.Module]]:
    """Modules whose parameters and buffers a run observes, each once: the callable ("" as prefix), those in globals, closures, self."""
    candidates: list[tuple[str, Any]] = [("", program.function), ("", getattr(program.function, "__self__", None))]
    candidates += [(n, v) for n, v in list(vars(program.module).items()) if not n.startswith(ADDED_BY_DYNAMO)]
    plain = getattr(program.function, "__func__", program.function)
    candidates += _contents(plain) if type(plain) is types.FunctionType else []
    found: list[tuple[str, torch.nn.Module]] = []
    for name, value in candidates:
        if issubclass(type(value), torch.nn.Module) and all(value is not known for _, known in found):
            found.append((name, value))
    return found


def tensors_of(program: Program) -> list[tuple[str, str, torch.Tensor]]:
    """("parameters" or "buffers", name, tensor) of those modules, each tensor once."""
    found: list[tuple[str, str, torch.Tensor]] = []
    seen: set[int] = set()
    for prefix, module in modules_of(program):
        for kind, tensors in (("parameters", module.named_parameters()), ("buffers", module.named_buffers())):
            for name, tensor in tensors:
                if id(tensor) not in seen:
                    seen.add(id(tensor))
                    found.append((kind, f"{prefix}.{name}" if prefix else name, tensor))
    return found
