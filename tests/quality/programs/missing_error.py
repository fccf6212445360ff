# by hand: 1 statement
# route: graph
# bug: missing exception (it belongs to a whole program, so that no pack can be asked)
import torch
import torch.nn.functional as F


class Loss:
    def __init__(self, weight):
        self.weight = weight

    def __call__(self, p, t):
        return F.binary_cross_entropy(p, t) * self.weight


def fn(p, t, x):
    a = x.tanh()
    b = a * 2
    c = b.sum()
    c = c * 3
    c = c.exp()
    c = c.log()
    c = c + 1
    c = c.sin()
    loss = Loss(2.0)(p, t)
    d = c.abs()
    e = d.sqrt()
    return loss + 1, e


def get_inputs():
    return [torch.full((3,), 0.5), torch.tensor([0.0, 1.0, 2.0]), torch.randn(4)]
