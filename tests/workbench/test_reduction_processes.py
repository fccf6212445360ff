"""Reductions by several processes over one store: killed at any moment they resume to the same result, two batches share the work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from stale import stale

from store import open_store
from store.records import Outcome, Stage, Symptom, Verdict
from store.rows import Reduction
from workbench.programs import parse_program
from workbench.signature import signature

pytestmark = pytest.mark.torch

STALE = stale("b = helper(y) * Box.v", "c = b + 1", "d = c.relu() + a.sum()", "return c, a, d.sum()", value="{value}")

SMALL = """import torch


def fn(x):
    if torch.compiler.is_compiling():
        return x * {value}
    return x


def get_inputs():
    return [torch.ones(1)]
"""

WAITS = 600.0
"""Seconds after which a test gives up on a loaded machine; nothing is decided by them."""


def stored(path, text, *values):
    verdict = Verdict(Outcome.MISMATCH, symptoms=(Symptom.VALUE,), stage=Stage.DYNAMO)
    with open_store(path) as store:
        for value in values:
            source = text.format(value=value)
            store.add_finding(parse_program(source, "finding.py"), verdict, signature=signature(verdict, source + str(value)), origin="check")


def started(path, *arguments):
    command = [sys.executable, "-m", "workbench", "minimize", *arguments, "--db", str(path), "--json", "--jobs", "1", "--no-certify"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def finished(process):
    text, _ = process.communicate(timeout=WAITS)
    assert process.returncode == 0
    return json.loads(text)


def accepted(path):
    with open_store(path) as store:
        kept = store.progress(1)
    return 0 if kept is None else int(kept.get("accepted", 0))


@pytest.mark.quality
def test_a_reduction_killed_at_two_moments_ends_as_one_that_was_left_alone(tmp_path):
    alone, killed = tmp_path / "alone.db", tmp_path / "killed.db"
    for path in (alone, killed):
        stored(path, STALE, 1)
    (whole,) = finished(started(alone, "1"))
    for steps in (1, 3):
        process = started(killed, "1")
        end = time.monotonic() + WAITS
        while accepted(killed) < steps and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None, "it ended before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (resumed,) = finished(started(killed, "1"))
    assert resumed["source"] == whole["source"]
    assert resumed["statements_after"] == whole["statements_after"] < whole["statements_before"]
    assert resumed["oracle_calls"] < whole["oracle_calls"]


def test_two_batches_share_the_findings_of_one_store(tmp_path):
    path = tmp_path / "shared.db"
    stored(path, SMALL, 2, 3, 4)
    batches = [started(path, "--all") for _ in range(2)]
    done = [entry["finding"] for batch in batches for entry in finished(batch) if entry.get("source")]
    assert sorted(done) == [1, 2, 3]
    with open_store(path) as store:
        assert {store.finding(i).reduction for i in (1, 2, 3)} == {Reduction.DONE}
        assert store.workers() == []
