# by hand: 1 statement
# route: graph
# bug: single operator
import torch


def fn(c, a, b):
    n = a.norm()
    p = a * 2
    q = p.tanh()
    r = q - q.mean()
    s = r.abs().sqrt()
    t = s.sum(-1, keepdim=True)
    out = torch.addmm(c, a * float("nan"), b, alpha=0.0)
    u = t.log1p()
    v = u.exp() - 1
    w = v + n
    y = out + 1
    z = y - 1
    k = w.sigmoid()
    m = k.round()
    return z, m, k.max()


def get_inputs():
    return [torch.zeros(4), torch.randn(1, 4), torch.randn(4, 4)]
