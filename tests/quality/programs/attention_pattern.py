# by hand: 2 statements
# route: graph
import torch


def heads(x, n):
    return x.reshape(1, 4, n, 16)


def fn(q, k, v, x):
    a = x.sin()
    b = a.mean(0)
    c = b.relu()
    c = c + 1
    c = c.clamp(0, 3)
    c = c * c
    c = c - c.min()
    q = heads(q, 4)
    k = heads(k, 4)
    s = torch.matmul(q, k.permute(0, 2, 3, 1))
    s = s.div(4.0)
    p = torch.softmax(s, -1)
    y = torch.matmul(p, v)
    d = c * 3
    e = d.exp().log()
    return y, e


def get_inputs():
    return [torch.randn(1, 4, 4, 16), torch.randn(1, 4, 4, 16), torch.randn(1, 4, 4, 16), torch.randn(3, 5)]
