# by hand: 1 statement
# route: graph
# bug: single operator
import torch
import torch.nn as nn
import torch.nn.functional as F


class Up(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)

    def forward(self, x):
        y = F.interpolate(x, scale_factor=(1.2, 2.0), mode="nearest")
        z = self.norm(self.conv(x))
        return y, z


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = Up()
        self.out = nn.Linear(3, 3)
        self.eval()

    def forward(self, x):
        a = x * 2
        b = a - a.mean()
        y, z = self.up(b)
        c = self.out(z.relu())
        return y + 1, c


def get_inputs():
    return [torch.arange(12.0).reshape(1, 1, 4, 3)]
