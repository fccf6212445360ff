"""Small integer types promoted in arithmetic."""
import torch


def fn(a, b, c):
    ab = a + b
    abc = ab * c
    halves = abc / 2
    return ab, abc, halves, abc.sum()


def get_inputs():
    return [torch.arange(8, dtype=torch.int8), torch.arange(8, dtype=torch.int16), torch.arange(8, dtype=torch.int32)]
