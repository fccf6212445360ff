# by hand: 3 statements
# route: graph
import torch


def fn(x, y, flag):
    if flag:
        a = y.sin()
    else:
        a = y.cos()
    b = a * 2
    b = b.flip(0)
    b = b.relu()
    b = b - 1
    b = b.tanh()
    k = torch.arange(4) // 2
    for step in range(2):
        b = b + step
    try:
        x[k] = x[k.view(-1)] - 1.0
    except IndexError:
        x = x + 1
    c = b.sum()
    return x, c


def get_inputs():
    return [torch.zeros(4, 3), torch.randn(3), True]
