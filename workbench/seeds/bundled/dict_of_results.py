"""Results kept in a dictionary, updated by key."""
import torch


def fn(x):
    results = {"sum": x.sum(0)}
    results["largest"] = x.amax(0)
    for name in ("sum", "largest"):
        results[name] = results[name] + 1
    spread = results["largest"] - results["sum"]
    results.update(spread=spread)
    return results


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4)]
