"""Chunk a vector, stack the pieces the other way round."""
import torch


def fn(x):
    pieces = x.chunk(4)
    stacked = torch.stack(pieces[::-1], dim=1)
    flat = stacked.reshape(-1)
    return stacked, flat


def get_inputs():
    return [torch.arange(12.0)]
