"""Nearest resize by a whole factor with a border added."""
import torch
import torch.nn.functional as F


def fn(image):
    big = F.interpolate(image, scale_factor=2, mode="nearest")
    framed = F.pad(big, (1, 1, 1, 1), value=-1.0)
    return framed, framed.sum(dim=-1)


def get_inputs():
    return [torch.arange(24.0).reshape(1, 2, 3, 4)]
