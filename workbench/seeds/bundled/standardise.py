"""Subtract the mean and divide by the standard deviation."""
import torch


def fn(x):
    mean = x.mean(dim=0, keepdim=True)
    spread = x.var(dim=0, unbiased=True, keepdim=True)
    scaled = (x - mean) / torch.sqrt(spread + 1e-5)
    return scaled, mean


def get_inputs():
    return [torch.randn(12, 5)]
