"""A module that keeps a running sum and a step count in buffers."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.register_buffer("running", torch.zeros(4))

    def forward(self, x):
        self.steps += 1
        mean = x.mean(dim=0)
        self.running.mul_(0.5).add_(mean.detach())
        return x - self.running


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4)]
