"""Pad an image by reflection, crop it off centre."""
import torch
import torch.nn.functional as F


def fn(image):
    padded = F.pad(image, (2, 1, 1, 2), mode="reflect")
    cropped = padded[:, :, 1:6, 2:7]
    return padded.sum(dim=(2, 3)), cropped


def get_inputs():
    return [torch.arange(50.0).reshape(1, 2, 5, 5)]
