"""Pixel shuffle and back."""
import torch
import torch.nn.functional as F


def fn(features):
    image = F.pixel_shuffle(features, 2)
    bright = image + 1
    again = F.pixel_unshuffle(bright, 2)
    return image, again - features


def get_inputs():
    return [torch.arange(64.0).reshape(1, 4, 4, 4)]
