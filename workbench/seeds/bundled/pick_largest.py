"""Index of the largest entry, then the entry itself."""
import torch


def fn(x):
    where = x.argmax(dim=1)
    best = x.gather(1, where[:, None]).squeeze(1)
    rest = x.sum(dim=1) - best
    return where, best, rest


def get_inputs():
    return [(torch.arange(35) * 11 % 37).reshape(5, 7).float()]
