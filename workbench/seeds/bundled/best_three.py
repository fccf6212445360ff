"""The three largest entries of each row and their sum."""
import torch


def fn(x):
    values, places = torch.topk(x, 3, dim=1)
    total = values.sum(dim=1)
    return values, places, total


def get_inputs():
    return [(torch.arange(40) * 7 % 41).reshape(4, 10).float()]
