"""Narrow a tensor, take it apart along the first axis."""
import torch


def fn(x):
    part = x.narrow(1, 1, 3)
    first, second, third = part.unbind(0)
    total = first + second * third
    return part, total


def get_inputs():
    return [torch.arange(15.0).reshape(3, 5)]
