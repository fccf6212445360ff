"""Straight-through rounding with detach."""
import torch


def fn(x):
    rounded = torch.round(x * 2) / 2
    passed = x + (rounded - x).detach()
    loss = (passed * passed).sum()
    return passed, loss


def get_inputs():
    return [torch.arange(10.0) * 0.375]
