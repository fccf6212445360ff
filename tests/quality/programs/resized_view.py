# by hand: 4 statements
# route: graph
import torch


def fn(x, y):
    p = y.exp()
    q = p.log()
    r = q + p
    r = r.tanh()
    r = r * 3
    r = r.roll(1)
    r = r.cumsum(0)
    r = r.relu()
    r = r - r.mean()
    b = x * 3
    v = b.view(-1)
    v.resize_(10)
    s = r.mean()
    t = s * 2
    u = t.sigmoid()
    return b - 1, u, r.argmax()


def get_inputs():
    return [torch.ones(2), torch.randn(6)]
