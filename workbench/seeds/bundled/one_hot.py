"""One-hot rows by scatter."""
import torch


def fn(labels, smooth):
    base = torch.full((labels.shape[0], 5), smooth)
    hot = base.scatter(1, labels[:, None], 1.0)
    back = hot.argmax(dim=1)
    return hot, back


def get_inputs():
    return [torch.tensor([0, 3, 4, 1]), 0.125]
