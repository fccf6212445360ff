"""Convolutions with a residual connection."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(2, 2, 3, padding=1)
        self.two = nn.Conv2d(2, 2, 3, padding=1, bias=False)

    def forward(self, x):
        hidden = self.one(x).relu()
        out = self.two(hidden)
        total = out + x
        return total.relu()


def get_inputs():
    return [torch.randn(1, 2, 6, 6)]
