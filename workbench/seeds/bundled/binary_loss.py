"""Binary cross entropy from logits with weights."""
import torch
import torch.nn.functional as F


def fn(logits, target, weight):
    each = F.binary_cross_entropy_with_logits(logits, target, reduction="none") * weight
    mean = each.mean()
    return each, mean


def get_inputs():
    return [torch.randn(3, 4), torch.tensor([[0.0, 1.0, 1.0, 0.0]]).expand(3, 4).contiguous(), torch.ones(4)]
