"""A step of gradient descent with momentum, by hand."""
import torch


def fn(weight, gradient, momentum):
    momentum = momentum * 0.5 + gradient
    update = momentum * 0.25
    weight = weight - update
    return weight, momentum


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3), torch.ones(2, 3), torch.full((2, 3), 4.0)]
