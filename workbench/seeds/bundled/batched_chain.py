"""A chain of batched matrix products on whole numbers."""
import torch


def fn(a, b, c):
    ab = torch.bmm(a, b)
    abc = torch.bmm(ab, c)
    trace = abc.diagonal(dim1=1, dim2=2).sum(dim=1)
    return abc, trace


def get_inputs():
    return [torch.randint(-3, 4, (2, 3, 4)).float(), torch.randint(-3, 4, (2, 4, 5)).float(), torch.randint(-3, 4, (2, 5, 3)).float()]
