"""A depthwise convolution with a pointwise one after it."""
import torch
import torch.nn.functional as F


def fn(image, depth, point):
    spread = F.conv2d(image, depth, padding=1, groups=image.shape[1])
    mixed = F.conv2d(spread, point)
    return mixed.amax(dim=(2, 3)), spread


def get_inputs():
    return [torch.randint(-2, 3, (1, 3, 6, 6)).float(), torch.randint(-1, 2, (3, 1, 3, 3)).float(), torch.randint(-1, 2, (2, 3, 1, 1)).float()]
