"""How long each run took is told without the time that it waited for a server."""

from __future__ import annotations

from itertools import count

import pytest

from store.records import Program
from workbench.commands.steps import Steps
from workbench.oracle import runs
from workbench.runner.protocol import Request
from workbench.servers import Run


class SlowStart:
    """Every run takes a second of its own, whatever a clock says beside it."""

    def run(self, request: Request) -> Run:
        return Run("died", seconds=1.0)


@pytest.mark.parametrize(("tick", "told"), [(4.0, "eager 1.0 s, waiting for a server 3.0 s"), (1.2, "eager 1.0 s")])
def test_the_wait_for_a_server_is_no_part_of_a_run(monkeypatch: pytest.MonkeyPatch, tick: float, told: str) -> None:
    clock = count(0.0, tick)
    monkeypatch.setattr(runs.time, "monotonic", lambda: next(clock))
    steps = Steps()
    with pytest.raises(runs.UndecidedError):
        runs.Runs(SlowStart(), Program("fn = abs"), runs.Setting(tell=steps.tell)).eager()
    assert steps.line() == told
