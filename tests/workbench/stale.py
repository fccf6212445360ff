"""A planted wrong branch that loses a NaN, among things to reduce away; it shows at backend ``eager``, so that it costs no compile."""

from __future__ import annotations

_TEXT = """import torch


class Box:
    v = {value}


def helper(x):
    y = x.sin()
    return y * 2


def fn(x, y):
    if torch.compiler.is_compiling():
        a = torch.where(x > 0, x, 0.0)
    else:
        a = x.clamp(min=0)
{rest}

def get_inputs():
    return [torch.tensor([1.0, float("nan"), -1.0]), torch.randn(4, 3)]
"""


def stale(*rest: str, value: str = "1", block: str = "") -> str:
    """The program; ``rest``: how ``fn`` goes on from ``a`` and ``y``, a line each; ``value`` of ``Box.v``; ``block`` before everything."""
    return block + _TEXT.replace("{value}", value).replace("{rest}", "".join(f"    {line}\n" for line in rest))
