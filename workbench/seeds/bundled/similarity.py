"""Cosine similarity of all pairs of rows."""
import torch


def fn(a, b):
    left = a / a.norm(dim=1, keepdim=True)
    right = b / b.norm(dim=1, keepdim=True)
    table = left @ right.t()
    return table, table.argmax(dim=1)


def get_inputs():
    return [torch.randn(3, 6), torch.randn(4, 6)]
