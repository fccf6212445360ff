"""Look up a key, fall back when it is missing."""
import torch

TABLE = {"add": 2.0}


def fn(x, name):
    try:
        amount = TABLE[name]
    except KeyError:
        amount = -1.0
    out = x + amount
    return out


def get_inputs():
    return [torch.arange(5.0), "sub"]
