"""Keep what is inside a range, count it."""
import torch


def fn(x):
    inside = (x >= 2) & (x < 9)
    kept = torch.where(inside, x, torch.zeros_like(x))
    some = inside.any(dim=1)
    every = inside.all(dim=1)
    return kept, some, every


def get_inputs():
    return [torch.arange(18.0).reshape(3, 6)]
