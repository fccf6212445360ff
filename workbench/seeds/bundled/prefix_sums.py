"""Running sums and their differences."""
import torch


def fn(x):
    running = x.cumsum(dim=1)
    window = running[:, 3:] - running[:, :-3]
    last = running[:, -1]
    return window, last


def get_inputs():
    return [torch.arange(30.0).reshape(3, 10)]
