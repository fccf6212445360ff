# /// workbench
# dynamic = false
# [inductor]
# "fallback_random" = true
# "epilogue_fusion" = false
# ///
# by hand: 2 statements
# route: graph
import torch


def noise(t):
    u = t.clone()
    u.bernoulli_(0.5)
    return t


def fn(x, y):
    a = y.sin()
    b = a.cumsum(0)
    c = b - b.mean()
    c = c.abs()
    c = c.sqrt()
    c = c + c.max()
    c = c / 2
    d = noise(x)
    e = d + torch.rand(3)
    f = c.tanh()
    g = f * 2
    h = g.softmax(0)
    return e, h


def get_inputs():
    return [torch.zeros(3), torch.randn(5)]
