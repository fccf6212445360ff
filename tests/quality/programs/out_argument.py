# by hand: 3 statements
# route: source
import torch

RESULTS = {"calls": 0}


def count(d):
    d["calls"] += 1
    return d["calls"]


def fn(x, y):
    n = count(RESULTS)
    a = y.sin()
    a = a.exp()
    a = a.log1p()
    a = a * 2
    a = a - 1
    b = [a, a * 2, a * 3]
    c = sum(t.sum() for t in b)
    lo = torch.empty(0)
    hi = torch.empty(0)
    torch.ops.aten.aminmax.out(x, min=lo, max=hi)
    d = {"n": n, "c": c}
    return list(lo.shape), list(hi.shape), d


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3), torch.randn(3)]
