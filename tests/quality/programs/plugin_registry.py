# by hand: 7 statements
# route: source
# bug: state between calls
import torch
import torch.nn as nn


class Stage:
    gain = 1.0

    def __init__(self, name):
        self.name = name
        self.calls = 0

    def apply(self, x):
        return x * self.gain


class Sharpen(Stage):
    def apply(self, x):
        base = super().apply(x)
        return base + 0.5


class Clip(Stage):
    low = 0.0
    high = 100.0

    def apply(self, x):
        return x.clamp(self.low, self.high)


class Registry:
    def __init__(self):
        self.stages = {}
        self.order = []

    def add(self, stage):
        self.stages[stage.name] = stage
        self.order.append(stage.name)
        return stage

    def __iter__(self):
        for name in self.order:
            yield self.stages[name]


registry = Registry()
registry.add(Sharpen("sharpen"))
registry.add(Clip("clip"))
norm = nn.LayerNorm(4)


def score(x):
    h = norm(x)
    h = h.relu() + h.sigmoid()
    peaks = h.amax(-1)
    share = peaks.softmax(0)
    return (h * share.unsqueeze(-1)).sum()


def fn(x):
    y = x.abs() + 1
    for stage in registry:
        y = stage.apply(y)
    mean = y.mean(-1, keepdim=True)
    centred = y - mean
    loss = score(centred)
    order = centred.argsort(-1)
    ranks = order.argsort(-1).float()
    trend = torch.diff(ranks, dim=-1)
    turns = trend.sign().sum(-1)
    loss = loss + turns.square().mean()
    total = y.sum()
    return total, loss, order


def drive(fn, inputs):
    results = []
    for step in range(2):
        results.append(fn(*inputs)[0])
        Sharpen.gain = 3.0
    return results


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4)]
