"""Reorder each row by its own index."""
import torch


def fn(x, order):
    moved = torch.take_along_dim(x, order, dim=1)
    changed = moved != x
    return moved, changed.sum(dim=1)


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4), torch.tensor([[3, 2, 1, 0], [0, 1, 2, 3], [1, 0, 3, 2]])]
