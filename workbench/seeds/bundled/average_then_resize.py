"""Average pooling then nearest resize to the old size."""
import torch
import torch.nn.functional as F


def fn(image):
    small = F.avg_pool2d(image, 2)
    large = F.interpolate(small, size=image.shape[2:], mode="nearest")
    detail = image - large
    return small, detail


def get_inputs():
    return [torch.arange(64.0).reshape(1, 1, 8, 8)]
