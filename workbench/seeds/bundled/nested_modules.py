"""A module inside a module with a shared parameter."""
import torch
from torch import nn


class Inner(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x @ self.weight.t()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(4) * 2)
        self.inner = Inner(self.weight)

    def forward(self, x):
        once = self.inner(x)
        twice = once @ self.weight
        return once, twice


def get_inputs():
    return [torch.arange(8.0).reshape(2, 4)]
