"""Update a running mean that is an input."""
import torch


def fn(x, mean):
    batch = x.sum(dim=0) / 4
    mean.mul_(0.5)
    mean.add_(batch, alpha=0.5)
    centred = x - mean
    return centred


def get_inputs():
    return [torch.arange(12.0).reshape(4, 3), torch.zeros(3)]
