"""A Cholesky factor and a solve."""
import torch


def fn(matrix, right):
    spd = matrix @ matrix.t() + 5 * torch.eye(matrix.shape[0])
    factor = torch.linalg.cholesky(spd)
    solution = torch.cholesky_solve(right, factor)
    return solution, factor.diagonal()


def get_inputs():
    return [torch.randn(4, 4), torch.randn(4, 2)]
