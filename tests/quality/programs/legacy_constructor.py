# by hand: 1 statement
# route: source
import torch


class Sizes:
    def __init__(self, limit):
        self.limit = limit
        self.seen = []

    def check(self, t):
        self.seen.append(tuple(t.shape))
        return len(self.seen) < self.limit


SIZES = Sizes(3)


def gram(t):
    g = t @ t.t()
    return g


def fn(t, x):
    a = x.sin()
    b = a.cumsum(0)
    c = b + 1
    ok = SIZES.check(t)
    g = gram(t)
    if ok:
        z = torch.zeros_like(torch.Tensor(g.size()))
    else:
        z = g
    d = c.tanh()
    return z, d.sum()


def get_inputs():
    return [torch.ones(2, 3), torch.randn(4)]
