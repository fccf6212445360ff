"""Choose an activation by name."""
import torch

ACTIVATIONS = {"relu": torch.relu, "abs": torch.abs, "square": lambda v: v * v}


def fn(x, names):
    value = x
    for name in names:
        value = ACTIVATIONS[name](value) - 1
    return value


def get_inputs():
    return [torch.arange(-4.0, 4.0), ("relu", "square", "abs")]
