"""A low-rank product with a residual."""
import torch


def fn(x, down, up):
    small = x @ down
    back = small @ up
    residual = x - back
    return residual.square().sum(dim=1), back


def get_inputs():
    return [torch.randint(-2, 3, (6, 8)).float(), torch.randint(-2, 3, (8, 2)).float(), torch.randint(-2, 3, (2, 8)).float()]
