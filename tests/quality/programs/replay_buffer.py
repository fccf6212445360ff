# by hand: 2 statements
# route: graph
# bug: alias
import torch


def smooth(signal, width):
    kernel = torch.hann_window(width)
    kernel = kernel / kernel.sum()
    padded = torch.nn.functional.pad(signal, (width // 2, width // 2))
    windows = padded.unfold(-1, width, 1)
    return (windows * kernel).sum(-1)


def statistics(signal):
    mean = signal.mean(-1, keepdim=True)
    spread = signal.std(-1, keepdim=True)
    centred = (signal - mean) / (spread + 1e-6)
    peaks = centred.amax(-1)
    return centred, peaks


def mix(state, signal):
    weight = torch.sigmoid(signal.mean())
    blended = torch.lerp(state, torch.ones_like(state), 0.25)
    rounded = blended.round()
    return rounded, weight


def advance(state):
    rolled = state * 2
    kept = rolled.clone()
    window = torch.nn.functional.dropout(kept, training=False)
    window.neg_()
    total = kept.sum()
    return kept, window, total


def fn(state, signal):
    quiet = smooth(signal, 5)
    centred, peaks = statistics(quiet)
    rounded, weight = mix(state, centred)
    kept, window, total = advance(rounded + state)
    scores = centred @ centred.t()
    order = scores.argsort(-1)
    ranks = order.argsort(-1)
    spread = ranks.float().var()
    energy = (centred * peaks.unsqueeze(-1)).square().sum()
    trend = torch.diff(quiet, dim=-1).sign()
    turns = (trend[:, 1:] != trend[:, :-1]).sum(-1)
    share = turns / turns.sum().clamp(min=1)
    entropy = -(share * (share + 1e-9).log()).sum()
    loss = energy * weight + spread * 0.01
    loss = loss + entropy
    history = torch.stack([quiet.mean(), quiet.amax(), loss])
    drift = history.cumsum(0)[-1]
    loss = loss + drift * 0.1
    signs = torch.sign(signal).long()
    counts = torch.bincount(signs.flatten() + 1, minlength=3)
    mode = counts.argmax()
    return kept, loss, total, order, turns, mode


def get_inputs():
    return [torch.arange(6.0).reshape(2, 3), torch.randn(4, 16)]
