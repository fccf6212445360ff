"""Repeat rows in two ways."""
import torch


def fn(x, counts):
    tiled = x.repeat(2, 1)
    copies = torch.repeat_interleave(x, 2, dim=0)
    same = tiled.sum(dim=0) - copies.sum(dim=0)
    return tiled, copies, same + counts


def get_inputs():
    return [torch.arange(9.0).reshape(3, 3), torch.tensor([1.0, 2.0, 3.0])]
