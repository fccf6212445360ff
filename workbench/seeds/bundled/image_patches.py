"""Cut an image into patches and sum each."""
import torch
import torch.nn.functional as F


def fn(image):
    columns = F.unfold(image, kernel_size=2, stride=2)
    sums = columns.sum(dim=1)
    grid = sums.view(image.shape[0], image.shape[2] // 2, image.shape[3] // 2)
    return columns, grid


def get_inputs():
    return [torch.arange(48.0).reshape(1, 3, 4, 4)]
