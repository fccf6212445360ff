"""Rotate complex numbers by quarter turns."""
import torch


def fn(z):
    turned = z * 1j
    back = turned.conj() * turned
    parts = torch.view_as_real(turned)
    return turned, back.real, parts.sum(-1)


def get_inputs():
    return [torch.complex(torch.arange(6.0), torch.arange(6.0, 0.0, -1.0))]
