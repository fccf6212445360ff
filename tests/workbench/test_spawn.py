"""Spawned children (macOS, accelerators that forks cannot use): the same interface, isolation and answers as forked ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from store.records import Outcome, Program
from workbench.oracle.judge import Demand, Judge
from workbench.runner import layers, spawn
from workbench.runner.protocol import Limits, Request
from workbench.servers import Pool

pytestmark = pytest.mark.torch

PROGRAM = "import os, sys, time, torch\ndef fn(x):\n    {0}\n    return x * 2\ndef get_inputs():\n    return [torch.ones(3)]\n"


@pytest.fixture(scope="module")
def spawning() -> Iterator[Pool]:
    """A pool whose servers start every child anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(spawn.VARIABLE, "spawn")
        patch.setenv("OPENAI_API_KEY", "secret-of-the-host")
        with Pool() as pool:
            yield pool


def test_the_environment_says_that_children_are_spawned(spawning: Pool, pool: Pool) -> None:
    assert spawn.VARIABLE in spawning.environment()["start"]
    assert pool.environment()["start"] == ""


def test_a_spawned_child_is_as_isolated_as_a_forked_one(spawning: Pool, pool: Pool) -> None:
    body = PROGRAM.format("print(os.getuid(), os.environ, os.listdir('.')); open('/tmp/trace-of-a-spawned-child', 'w')")
    done = spawning.run(Request("run", body))
    assert done.document is not None
    assert done.document["exception"]["class"] in ("OSError", "PermissionError")
    assert not Path("/tmp/trace-of-a-spawned-child").exists()
    assert "secret-of-the-host" not in done.output
    forked = pool.run(Request("run", PROGRAM.format("pass")))
    assert done.missing == forked.missing


def test_a_spawned_child_gives_the_same_results_as_a_forked_one(spawning: Pool, pool: Pool) -> None:
    request = Request("run", PROGRAM.format("x = x + torch.rand(3)"), configuration={"seed": 3})
    spawned, forked = spawning.run(request), pool.run(request)
    assert spawned.document is not None
    assert forked.document is not None
    assert bytes(spawned.blobs) == bytes(forked.blobs)
    assert spawned.document["leaves"] == forked.document["leaves"]


@pytest.mark.quality
def test_a_spawned_child_that_hangs_or_leaves_costs_its_own_run(spawning: Pool) -> None:
    hangs = Request("run", PROGRAM.format("os.fork(); time.sleep(1000)"), limits=Limits(seconds=15))
    assert spawning.run(hangs).status == "timeout"
    assert spawning.run(Request("run", PROGRAM.format("os._exit(0)"))).status == "died"
    assert spawning.run(Request("run", PROGRAM.format("pass"))).status == "ok"


def test_verdicts_come_out_of_spawned_children_too(spawning: Pool) -> None:
    differs = Program(PROGRAM.format("x = x + torch.compiler.is_compiling()"))
    found = Judge(spawning).check(differs, demand=Demand(stage=False, confirm=False))
    assert found.outcome is Outcome.MISMATCH
    assert found.compiles == 1


@pytest.mark.quality
def test_without_any_layer_a_spawned_child_still_ends_with_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What macOS has to offer."""
    monkeypatch.setenv(spawn.VARIABLE, "spawn")
    with Pool(without=tuple(layers.LAYERS)) as poor:
        done = poor.run(Request("run", PROGRAM.format("os.fork() or time.sleep(1000)")))
        assert done.status == "ok"
        assert set(done.missing) == set(layers.LAYERS)
