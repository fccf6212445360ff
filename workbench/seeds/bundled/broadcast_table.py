"""A table from a column and a row."""
import torch


def fn(column, row):
    wide = column[:, None].expand(-1, row.shape[0])
    table = wide * 10 + row
    best = table.argmax(dim=0)
    return table, best


def get_inputs():
    return [torch.arange(4.0), torch.arange(6.0)]
