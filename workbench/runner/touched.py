"""What a compiled callable of a script can touch besides its arguments: globals that its code names, closures, the instance it is bound to."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from .program import Program

LIMIT = 200
"""Functions followed from one callable."""


def scope(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], module: types.ModuleType) -> Program:
    """The callable with the globals that it, and the script's functions it calls, name: what one call's observation looks at."""
    names: dict[str, Any] = {}
    waiting = [*_functions_of(function, module)]
    seen: set[int] = set()
    while waiting and len(seen) < LIMIT:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for name in _names(current.__code__):
            if name not in current.__globals__ or name in names:
                continue
            value = current.__globals__[name]
            names[name] = value
            waiting += _functions_of(value, module)
    arguments = [*args, *kwargs.values()]
    names.update({f"argument{i}": a for i, a in enumerate(arguments) if issubclass(type(a), torch.nn.Module)})
    return Program(types.SimpleNamespace(**names), function, None)  # type: ignore[arg-type]


def _functions_of(value: Any, module: types.ModuleType) -> Iterator[types.FunctionType]:
    """The script's own functions behind a value: itself, its methods, its module's parts' methods, what it closes over."""
    plain = getattr(value, "__func__", value)
    owner = getattr(value, "__self__", None)
    if type(plain) is types.FunctionType:
        if plain.__globals__ is vars(module):
            yield plain
        for cell in plain.__closure__ or ():
            try:
                inner = cell.cell_contents
            except ValueError:
                continue
            if inner is not value and type(getattr(inner, "__func__", inner)) is types.FunctionType:
                yield from _own(getattr(inner, "__func__", inner), module)
            elif issubclass(type(inner), torch.nn.Module):
                yield from _methods(inner, module)
    for instance in (owner, value):
        yield from _methods(instance, module)


def _own(function: types.FunctionType, module: types.ModuleType) -> Iterator[types.FunctionType]:
    if function.__globals__ is vars(module):
        yield function


def _methods(instance: Any, module: types.ModuleType) -> Iterator[types.FunctionType]:
    kinds = {type(instance)}
    if isinstance(instance, type):
        kinds = {instance}
    elif issubclass(type(instance), torch.nn.Module):
        kinds = {type(part) for part in instance.modules()}
    for kind in kinds:
        for base in kind.__mro__:
            if base.__module__ == module.__name__:
                yield from (f for f in vars(base).values() if type(f) is types.FunctionType and f.__globals__ is vars(module))


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
