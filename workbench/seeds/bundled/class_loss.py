"""Cross entropy with label smoothing."""
import torch
import torch.nn.functional as F


def fn(logits, labels):
    loss = F.cross_entropy(logits, labels, label_smoothing=0.125)
    hit = (logits.argmax(dim=1) == labels).sum()
    return loss, hit


def get_inputs():
    return [torch.randn(5, 4), torch.tensor([0, 1, 2, 3, 0])]
