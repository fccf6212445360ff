# by hand: 11 statements
# route: source
import torch

SHARED = {}


def setup():
    SHARED["log"] = []
    SHARED["names"] = ["a", "b"]


def build():
    log = SHARED["log"]
    names = list(SHARED["names"])

    class Recorder:
        def go(self, v):
            log.append(v)

        def size(self):
            return len(log)

    def f(x):
        r = Recorder()
        y = x.sin()
        z = y * len(names)
        r.go(3)
        w = z.relu()
        return w + x + 1

    return f, (torch.ones(2),)


def drive(f, inputs):
    first = f(*inputs)
    total = first.sum()
    second = f(*inputs)
    return second, list(SHARED["log"]), total


setup()
fn, _inputs = build()


def get_inputs():
    return _inputs
