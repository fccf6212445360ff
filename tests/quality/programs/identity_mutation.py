# by hand: 2 statements
# route: graph
import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.3)
        self.lin = nn.Linear(3, 3)

    def forward(self, t):
        d = self.drop(t)
        d.mul_(5)
        r = self.lin(t)
        return t + 0, r


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()
        self.eval()

    def forward(self, x, y):
        a = x * 2
        b = a.sigmoid()
        c = b.softmax(-1)
        d = c.sum()
        e = y.abs()
        f = e.log1p()
        out, side = self.head(y)
        g = f + d
        h = g.clamp(max=3)
        return out, h, side.relu()


def get_inputs():
    return [torch.randn(3), torch.ones(3)]
