# /// workbench
# [inductor]
# "fallback_random" = true
# ///
"""Dropout in training, then noise added."""
import torch
import torch.nn.functional as F


def fn(x):
    dropped = F.dropout(x, 0.5, training=True)
    noise = torch.rand(x.shape)
    return dropped + noise


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4)]
