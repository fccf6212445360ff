# /// workbench
# grad = true
# ///
# by hand: 4 statements
# route: source
import torch


def mix(a, b):
    c = a * b
    return c.tanh()


def fn(x, w):
    a = x.sin()
    b = a.cos() + 1
    c = mix(a, b)
    with torch.autocast("cpu", enabled=False):
        y = x.float() @ w.float()
        z = y * 1.5
    d = c.sum()
    e = d * 2
    return z, e.exp()


def drive(f, inputs):
    names = ["first", "second"]
    kept = {n: len(n) for n in names}
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return f(*inputs), kept


def get_inputs():
    torch.manual_seed(0)
    return [torch.randn(4, 32).bfloat16(), torch.randn(32, 16)]
