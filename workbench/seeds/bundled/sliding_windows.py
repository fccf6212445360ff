"""Sums over sliding windows by unfold."""
import torch


def fn(signal):
    windows = signal.unfold(0, 4, 2)
    sums = windows.sum(dim=1)
    peaks = windows.amax(dim=1)
    return sums, peaks - sums


def get_inputs():
    return [torch.arange(16.0)]
