"""Layers kept in a ModuleList and chosen by name in a ModuleDict."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.heads = nn.ModuleDict({"sum": nn.Linear(4, 1), "pair": nn.Linear(4, 2)})

    def forward(self, x):
        hidden = x
        for i, layer in enumerate(self.layers):
            hidden = layer(hidden) + i
        return {name: head(hidden) for name, head in self.heads.items()}


def get_inputs():
    return [torch.randn(2, 4)]
