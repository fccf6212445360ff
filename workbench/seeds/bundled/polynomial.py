"""Horner's rule over a list of coefficients."""
import torch


def fn(x, coefficients):
    value = torch.zeros_like(x)
    for c in coefficients:
        value = value * x + c
    slope = value - x
    return value, slope


def get_inputs():
    return [torch.arange(-4.0, 5.0), [2.0, -1.0, 3.0]]
