"""A picture of where elements differ: one block a cell, darker for a larger relative error. Text only."""

from __future__ import annotations

import math
from collections.abc import Sequence

SHADES = " ·░▒▓█"
BOUNDS = (0.0, 1e-6, 1e-4, 1e-2, 1.0)
"""Relative errors: above the n-th bound stands the shade after it."""

LEGEND = "relative error: · ≤1e-6  ░ ≤1e-4  ▒ ≤1e-2\n                ▓ ≤1  █ >1  × nan or inf"


def picture(grid: Sequence[Sequence[float]]) -> list[str]:
    """One text a row, framed; empty for an empty grid."""
    if not grid or not grid[0]:
        return []
    width = max(len(row) for row in grid)
    body = ["│" + "".join(_shade(v) for v in row).ljust(width) + "│" for row in grid]
    return ["┌" + "─" * width + "┐", *body, "└" + "─" * width + "┘"]


def _shade(error: float) -> str:
    if not math.isfinite(error):
        return "×"
    return SHADES[sum(abs(error) > bound for bound in BOUNDS)]
