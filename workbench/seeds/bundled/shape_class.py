"""A class with properties and a class attribute."""
import torch


class Box:
    unit = 2

    def __init__(self, low, high):
        self.low = low
        self.high = high

    @property
    def size(self):
        return (self.high - self.low) * self.unit

    def __add__(self, other):
        return Box(self.low + other.low, self.high + other.high)


def fn(a, b):
    total = Box(a, b) + Box(b, a * 3)
    size = total.size
    return size, total.low


def get_inputs():
    return [torch.arange(4.0), torch.arange(4.0, 8.0)]
