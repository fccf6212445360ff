"""A small integer hash with shifts and xors."""
import torch


def fn(keys):
    mixed = keys * 31 + 7
    mixed = mixed ^ (mixed >> 3)
    bucket = mixed % 13
    odd = (bucket & 1).bool()
    return mixed, bucket, odd


def get_inputs():
    return [torch.arange(1, 33)]
