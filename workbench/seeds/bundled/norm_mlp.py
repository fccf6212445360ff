"""Layer norm and a small feed-forward block."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x):
        normal = self.norm(x)
        wide = torch.nn.functional.silu(self.up(normal))
        out = x + self.down(wide)
        return out


def get_inputs():
    return [torch.randn(3, 8)]
