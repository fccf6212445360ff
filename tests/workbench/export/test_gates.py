"""The gates are really run: fresh processes of real torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from store import open_store
from store.records import Configuration, Program, Signature, Stage, Symptom
from workbench.export.gates import Subject, run_gates, stored_report, subject_of
from workbench.export.run import run_repro

pytestmark = pytest.mark.torch

PLANTED = """import torch


def fn(x):
    if torch.compiler.is_compiling():
        return x + 2
    return x + 1


def get_inputs():
    return [torch.ones(2)]
"""

AGREES = """import torch


def fn(x):
    return x + 1


def get_inputs():
    return [torch.ones(2)]
"""


def gates(subject: Subject) -> dict[str, bool | None]:
    """Name and answer of every gate, really run."""
    return {gate.name: gate.met for gate in run_gates(subject, jobs=2).gates}


@pytest.mark.quality
def test_a_program_that_agrees_fails_the_first_gate_and_the_rest_is_not_claimed(subject: Callable[..., Subject]):
    made = subject(AGREES, (Symptom.VALUE,), stage=Stage.AOT, configuration=Configuration(backend="aot_eager"))
    answers = gates(made)
    assert answers["a fresh process exits non-zero with the mismatch, 3 of 3"] is False
    assert answers["exits zero with backend eager"] is None
    assert answers["exits zero under TORCHDYNAMO_DISABLE=1"] is True


@pytest.mark.quality
def test_a_mismatch_below_the_stage_is_caught(subject: Callable[..., Subject]):
    made = subject(PLANTED, (Symptom.VALUE,), stage=Stage.AOT, configuration=Configuration(backend="aot_eager"))
    assert gates(made)["exits zero with backend eager"] is False


@pytest.mark.parametrize(
    "ending", ["raise ValueError('MISMATCH')", "raise SystemExit(1)", "print('MISMATCH')", "print('MISMATCH'); raise SystemExit(2)"]
)
def test_only_exit_1_with_the_mark_on_a_line_of_its_own_is_the_mismatch(ending: str):
    assert not run_repro(ending).mismatch
    assert run_repro("print('MISMATCH: return'); raise SystemExit(1)").mismatch


def test_a_repro_that_hangs_is_ended_and_leaves_nothing_behind(tmp_path: Path):
    marker = tmp_path / "alive"
    child = f"import time\nwhile True:\n    open({str(marker)!r}, 'a').write('.'); time.sleep(0.1)"
    text = f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(600)\n"
    ended = run_repro(text, seconds=3)
    assert ended.code is None
    assert ended.words() == "timeout"
    size = marker.stat().st_size
    subprocess.run([sys.executable, "-c", "import time; time.sleep(0.5)"], check=True)
    assert marker.stat().st_size == size


def test_a_repro_sees_no_key_and_no_setting_of_torch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("TORCH_LOGS", "+dynamo")
    ended = run_repro("import os\nprint(sorted(os.environ))\n")
    assert ended.agreed
    assert "OPENAI_API_KEY" not in ended.output
    assert "TORCH_LOGS" not in ended.output


def test_a_real_mismatch_meets_every_gate_and_the_screen_uses_that_for_the_same_program_only(
    subject: Callable[..., Subject], tmp_path: Path
):
    made = subject(PLANTED, (Symptom.VALUE,), stage=Stage.DYNAMO, configuration=Configuration(backend="eager"))
    with open_store(tmp_path / "s.db") as store:
        signature = Signature(Stage.DYNAMO, None, (Symptom.VALUE,), ("add",))
        store.add_finding(made.program, made.verdict, signature=signature, origin="check")
        store.enqueue("gates", 1, actor="me")
        job = store.claim(["gates"], "worker")
        assert job is not None
        assert stored_report(store, subject_of(store, 1)) is None
        ran = run_gates(subject_of(store, 1), jobs=2)
        assert [g.name for g in ran.unmet] == []
        assert (ran.style, ran.gates[0].detail[:6]) == ("lean", "3 of 3")
        assert "MISMATCH" in ran.output
        store.finish(job, ran.to_json())
        report = stored_report(store, subject_of(store, 1))
        assert report is not None
        assert report.met
        smaller = Program(PLANTED.replace("return x + 2", "return x + 3"), made.program.configuration)
        store.save_reduction(1, smaller, made.verdict, signature, {}, final=True)
        assert stored_report(store, subject_of(store, 1)) is None
