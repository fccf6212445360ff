"""Programs from torch's own operator samples (``torch.testing._internal.common_methods_invocations.op_db``), printed as JSON.

Run by path (``__main__.py --opinfo COUNT SEED``) under the interpreter whose torch is asked. Sampled by operator first, then by sample: with
fewer programs than operators each is of another operator. Values are rounded to quarters so that a person can read them; what then does not
run in eager is left out.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import random
import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from .literals import Unwritable, argument_text, tensor_text
from .node import mapped

NAMES = "xyzwuvabcdefghijklmnopqrst"
SAMPLES = 24
"""Samples of an operator to choose from; some have thousands."""
MOST = 512
"""Elements up to which a tensor is used; larger samples say nothing that smaller ones do not."""
OTHER_DTYPE = 0.3
"""Share of programs that are not in float32, where the operator takes other dtypes."""


def main(arguments: list[str]) -> None:
    """Print ``{"torch": version, "programs": [{"name", "source"}, …]}``, or ``{"failed": why}``."""
    count, seed = int(arguments[0]), int(arguments[1])
    warnings.simplefilter("ignore")
    try:
        db = database()
    except ImportError as error:
        _told({"failed": f"torch's operator samples need a module that is missing: {error}"})
        return
    _told({"torch": torch.__version__, "programs": list(itertools.islice(programs(db, seed), count))})


def _told(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")


def database() -> list[Any]:
    """``op_db``. What torch's tests import for assertions alone has a stand-in, so that an interpreter without test packages serves."""
    if importlib.util.find_spec("expecttest") is None:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        stand_in.assert_expected_inline = None  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def programs(db: list[Any], seed: int) -> Iterator[dict[str, str]]:
    """Rounds over all operators in a shuffled order, one program each; ends when a whole round adds nothing."""
    seen: set[str] = set()
    for turn in itertools.count():
        order = random.Random(f"{seed} {turn}")
        found = False
        for op in order.sample(db, len(db)):
            made = _program(op, random.Random(f"{seed} {turn} {op.full_name}"))
            if made is not None and made["source"] not in seen:
                seen.add(made["source"])
                found = True
                yield {**made, "name": made["name"] if turn == 0 else f"{made['name']}_{turn}"}
        if not found:
            return


def _program(op: Any, choice: random.Random) -> dict[str, str] | None:
    """One sample of one operator as a program that eager runs; None when it has none."""
    call = _call(op)
    try:
        supported = sorted(op.supported_dtypes("cpu"), key=str)
        dtype = torch.float32
        if dtype not in supported or choice.random() < OTHER_DTYPE:
            dtype = choice.choice([d for d in supported if not d.is_complex] or supported)
        torch.manual_seed(choice.randrange(1 << 30))
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype), SAMPLES))
        if call is None or not samples:
            return None
        source = _source(call, choice.choice(samples), f"torch.{op.name}, an operator sample in {str(dtype).removeprefix('torch.')}.")
        _tried(source)
    except Exception:  # samples that raise, or that no text stands for, are no programs
        return None
    return {"name": f"opinfo_{op.full_name.replace('.', '_')}", "source": source}


def _call(op: Any) -> str | None:
    """``torch.NAME``, or ``.NAME`` for what is a method alone."""
    found: Any = torch
    for part in op.name.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return f"torch.{op.name}"
    return f".{op.name}" if callable(getattr(torch.Tensor, op.name, None)) and not op.name.startswith("_") else None


def _source(call: str, sample: Any, about: str) -> str:
    inputs: list[str] = []

    def named(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if value.numel() > MOST or len(inputs) == len(NAMES):
            raise Unwritable("too large")
        inputs.append(tensor_text(_readable(value.detach()), exact=value.numel() <= 2 * SAMPLES))
        return _Name(NAMES[len(inputs) - 1])

    first = mapped(sample.input, named)
    positional = [_text(first), *(_text(mapped(v, named)) for v in sample.args)]
    keywords = [f"{k}={_text(mapped(v, named))}" for k, v in sample.kwargs.items()]
    if call.startswith("."):
        expression = f"{positional[0]}{call}({', '.join(positional[1:] + keywords)})"
    else:
        expression = f"{call}({', '.join(positional + keywords)})"
    names = ", ".join(NAMES[: len(inputs)])
    made = "".join(f"        {text},\n" for text in inputs)
    return (
        f'"""{about}"""\nimport torch\n\n\ndef fn({names}):\n    return {expression}\n\n\ndef get_inputs():\n    return [\n{made}    ]\n'
    )


class _Name(str):
    """A name in the program, not a text argument."""

    __slots__ = ()


def _text(value: Any) -> str:
    if isinstance(value, _Name):
        return str(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_text, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_text(v)}" for k, v in value.items()) + "}"
    return argument_text(value, {})


def _readable(tensor: torch.Tensor) -> torch.Tensor:
    """The same with floats rounded to quarters, layout kept."""
    if not tensor.dtype.is_floating_point:
        return tensor
    rounded = tensor.double().mul(4).round().div(4).to(tensor.dtype)
    return torch.empty_like(tensor, memory_format=torch.preserve_format).copy_(rounded)


def _tried(source: str) -> None:
    space: dict[str, Any] = {}
    exec(compile(source, "sample", "exec"), space)
    torch.manual_seed(0)
    space["fn"](*space["get_inputs"]())
