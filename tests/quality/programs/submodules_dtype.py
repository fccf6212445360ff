# by hand: 1 statement
# route: graph
# bug: single operator
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.up = nn.Linear(n, n)
        self.down = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)

    def forward(self, x):
        h = self.norm(x)
        h = F.gelu(self.up(h))
        h = self.down(h)
        return x + h


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8) for _ in range(2)])
        self.head = nn.Linear(8, 16)

    def forward(self, x, counts):
        for block in self.blocks:
            x = block(x)
        scores = self.head(x)
        scores = scores.softmax(-1)
        mean = scores.mean()
        shifted = counts + 1
        doubled = shifted * 2
        large = (doubled > 3).to(torch.uint8)
        flag = large.any()
        running = scores.cumsum(-1) * mean
        total = running.sum() + doubled.sum()
        return running, total, flag, scores.argmax(-1)


def get_inputs():
    return [torch.randn(4, 8), torch.arange(12, dtype=torch.uint8).reshape(3, 4)]
