# by hand: 1 statement
# route: graph
# bug: single operator
import torch


def scale(v, factor):
    return v * factor


def fn(x, w):
    a = x.sin()
    b = a.cos()
    c = torch.relu(a + b)
    d = c @ w
    e = d.mean(0)
    f = e - e.max()
    g = f.exp()
    h = g / g.sum()
    positions = torch.arange(6)
    hashed = scale(positions, torch.tensor([2000000011]))
    bucket = hashed + 1
    low = bucket - 1
    i = h.cumsum(0)
    j = i.flip(0)
    k = j * 2
    m = k.clamp(0, 1)
    return m, low, d.sum()


def get_inputs():
    return [torch.randn(5, 4), torch.randn(4, 6)]
