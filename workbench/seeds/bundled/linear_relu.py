"""Two linear layers as a module."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(6, width)
        self.second = nn.Linear(width, 3)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        out = self.second(hidden)
        return out


def get_init_inputs():
    return [8]


def get_inputs():
    return [torch.randn(4, 6)]
