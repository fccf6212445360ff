"""Drop the upper half of a spectrum."""
import torch


def fn(signal):
    spectrum = torch.fft.rfft(signal)
    keep = torch.arange(spectrum.shape[-1]) < spectrum.shape[-1] // 2
    smooth = torch.fft.irfft(spectrum * keep, n=signal.shape[-1])
    return smooth


def get_inputs():
    return [torch.randn(2, 16)]
