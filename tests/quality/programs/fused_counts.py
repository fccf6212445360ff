# by hand: 1 statement
# route: graph
# bug: fusion
import torch


def normalise(logits, mask):
    masked = logits.masked_fill(~mask, -10.0)
    peak = masked.amax(-1, keepdim=True)
    shifted = masked - peak
    weights = shifted.exp()
    return weights / weights.sum(-1, keepdim=True)


def entropy(shares):
    logs = (shares + 1e-6).log()
    terms = shares * logs
    return -terms.sum(-1)


def histogram(codes):
    levels = torch.abs(codes)
    opposite = torch.neg(levels)
    joined = torch.cat((opposite, opposite, opposite))
    total = joined.sum()
    return joined, total


def attend(query, key, value, mask):
    scores = query @ key.transpose(-1, -2)
    scores = scores / query.shape[-1] ** 0.5
    shares = normalise(scores, mask)
    spread = entropy(shares)
    return shares @ value, spread


def fn(codes, query, key, value):
    size = query.shape[0]
    mask = torch.ones(size, size, dtype=torch.bool).tril()
    context, spread = attend(query, key, value, mask)
    context = context + query
    hidden = context.tanh() * 1.5
    hidden = hidden - hidden.mean(0)
    joined, total = histogram(codes)
    gram = hidden.t() @ hidden
    diagonal = gram.diagonal()
    trace = diagonal.sum()
    angles = torch.atan2(hidden, context)
    wrapped = torch.remainder(angles, 3.0)
    steps = wrapped.cumsum(0)
    largest = steps.topk(2, dim=0).values
    penalty = largest.relu().sum() + trace
    penalty = penalty / (spread.mean() + 1)
    order = spread.argsort()
    even = (order % 2 == 0).sum()
    reach = torch.cdist(hidden, context)
    near = reach.argmin(-1)
    votes = torch.bincount(near, minlength=size)
    winner = votes.argmax()
    penalty = penalty + reach.mean()
    return penalty, total, even, order, winner


def get_inputs():
    codes = torch.tensor([250, 130, 3], dtype=torch.uint8)
    return [codes, torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 4)]
