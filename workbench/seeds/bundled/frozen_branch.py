"""One branch under no_grad, one with gradients."""
import torch


def fn(x, w):
    with torch.no_grad():
        scale = (x * 2).amax()
    out = (x @ w) / (scale + 1)
    return out, scale


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3), torch.ones(3, 2)]
