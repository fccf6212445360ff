"""A custom autograd function."""
import torch


class ClippedSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x.clamp(-3, 3)


def fn(x):
    squared = ClippedSquare.apply(x)
    shifted = squared + 1
    return shifted


def get_inputs():
    return [torch.arange(-5.0, 6.0)]
