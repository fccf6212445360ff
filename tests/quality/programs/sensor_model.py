# by hand: 1 statement
# route: graph
# bug: single operator
import torch
import torch.nn as nn
import torch.nn.functional as F


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, h):
        wide = F.silu(self.inner(h))
        back = self.outer(wide)
        gate = torch.sigmoid(back)
        return h * gate * self.scale


class Summary(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.weight = nn.Linear(width, 1)

    def forward(self, h):
        normed = self.norm(h)
        scores = self.weight(normed).squeeze(-1)
        shares = scores.softmax(-1)
        pooled = (normed * shares.unsqueeze(-1)).sum(-2)
        return pooled, shares


def calibrate(readings, limits):
    low, high = limits.unbind(-1)
    span = high - low
    shifted = readings - low
    steps = torch.div(shifted, span, rounding_mode="floor")
    inside = (readings >= low) & (readings <= high)
    return steps, inside


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gates = nn.ModuleList([Gate(6) for _ in range(2)])
        self.summary = Summary(6)
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, frames, readings, limits):
        h = frames - self.mean
        for gate in self.gates:
            h = h + gate(h)
        pooled, shares = self.summary(h)
        steps, inside = calibrate(readings, limits)
        energy = pooled.pow(2).mean()
        best = shares.argmax(-1)
        outside = (~inside).sum()
        return pooled, energy, steps, best, outside


def get_inputs():
    readings = torch.tensor([1.0, float("inf"), 5.0])
    limits = torch.tensor([[0.0, 1.0], [0.0, 2.0], [1.0, 4.0]])
    return [torch.randn(4, 6), readings, limits]
