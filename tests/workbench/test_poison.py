"""The fill that stands in for an allocator's poison."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench.runner.poison import Poison

pytestmark = pytest.mark.torch


def test_poison_fills_only_what_nobody_wrote() -> None:
    poison = Poison(0x7F)
    with poison:
        grown = torch.ones(2)
        grown.resize_(4)
        empty, zeros, like = torch.empty(3), torch.zeros(3), torch.empty_like(torch.ones(2, dtype=torch.int16))
    assert empty.view(torch.uint8).unique().tolist() == [0x7F]
    assert zeros.tolist() == [0.0] * 3
    assert like.tolist() == [0x7F7F] * 2
    assert grown[:2].tolist() == [1.0, 1.0]
    assert np.array_equal(grown[2:].numpy().view(np.uint8), np.full(8, 0x7F, np.uint8))
    assert poison.counts["filled"] == 3
