# by hand: 1 statement
# route: graph
import torch


def fn(x, y):
    a = y @ y.t()
    b = a.trace()
    c = a.triu()
    c = c * 2
    c = c.exp()
    c = c.clamp(max=5)
    c = c + 1
    d = c.sum(0)
    m = torch.abs(x)
    n = torch.neg(m)
    cat = torch.cat((n, n, n))
    total = cat.sum()
    e = d.softmax(0)
    f = e.max()
    g = f + b
    return total, g, e.argmin()


def get_inputs():
    return [torch.tensor([250, 130, 3], dtype=torch.uint8), torch.randn(4, 4)]
