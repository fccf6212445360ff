# by hand: 4 statements
# route: graph
import torch
import torch.nn.functional as F


def fn(x, w):
    h = x @ w
    h = F.silu(h)
    g = h.mean(-1)
    k = g.sort().values
    k = k * 2
    k = k.abs()
    y = x.sin()
    z = k.cumsum(0)
    u = torch.cat([y, y[:0]])
    v = y.repeat(1, 1)
    t = z.exp()
    s = t / t.sum()
    return u, v, s


def drive(f, inputs):
    a, b, c = f(*inputs)
    a.add_(100)
    return a, b, c


def get_inputs():
    return [torch.arange(16.0).reshape(4, 4), torch.randn(4, 4)]
