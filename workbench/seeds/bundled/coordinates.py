"""Coordinates of a grid and their distance from the centre."""
import torch


def fn(x):
    rows, columns = torch.meshgrid(torch.arange(5), torch.arange(6), indexing="ij")
    distance = (rows - 2).abs() + (columns - 3).abs()
    ring = distance == 2
    return x + distance, ring


def get_inputs():
    return [torch.zeros(5, 6)]
