# by hand: 10 statements
# route: source
import torch


def build():
    def one(self, x):
        return x + 1

    def two(self, x):
        return x * 100

    class Holder:
        scale = 2

    Holder.method = one
    holder = Holder()

    def f(x):
        y = x.sin()
        z = y.relu() * holder.scale
        w = holder.method(x)
        return w, z.sum()

    def swap():
        Holder.method.__code__ = two.__code__

    f.swap = swap
    return f, (torch.ones(2),)


def drive(f, inputs):
    results = []
    results.append(f(*inputs))
    swap = getattr(f, "swap", None) or f._torchdynamo_orig_callable.swap
    swap()
    results.append(f(*inputs))
    return results


fn, _inputs = build()


def get_inputs():
    return _inputs
