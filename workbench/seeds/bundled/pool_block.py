"""Max pooling with indices and unpooling by scatter."""
import torch
import torch.nn.functional as F


def fn(image):
    pooled, places = F.max_pool2d(image, 2, return_indices=True)
    flat = torch.zeros(image.shape[0], image.shape[1], image.shape[2] * image.shape[3])
    restored = flat.scatter(2, places.flatten(2), pooled.flatten(2))
    return pooled, restored.view_as(image)


def get_inputs():
    return [(torch.arange(72) * 13 % 73).reshape(1, 2, 6, 6).float()]
