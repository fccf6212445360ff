"""The guilty graph and the guilty pass on real torch, and their replay line pasted before a repro in a shell, as an engineer would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from store.records import Outcome, Program, Stage, Verdict
from workbench.export.repro import repros
from workbench.export.sentences import replay_effect
from workbench.oracle.judge import Demand, Judge
from workbench.programs import parse_program
from workbench.servers import Pool

pytestmark = pytest.mark.torch

SEVERAL = """import torch


def fn(x, t):
    a = x * 2
    torch._dynamo.graph_break()
    w = t.view(-1)
    k = torch.arange(w.numel()) // 3
    w[k] = w[k] - 5.0
    torch._dynamo.graph_break()
    return a.sum() + 1, t + 0


def get_inputs():
    return [torch.arange(6.), torch.arange(6.).reshape(2, 3)]
"""
"""The write that reads itself (pytorch#197582) in the second of three graphs."""

ALIASED = """import torch
import torch.nn.functional as F


def fn(x, t):
    d = F.dropout(t, p=0.3, training=False)
    d.mul_(5)
    t = t + 0
    torch._dynamo.graph_break()
    return t, x * 2


def get_inputs():
    return [torch.arange(6.), torch.ones(3)]
"""
"""Stage aot (pytorch#195422) in the first of two graphs."""

HELPER = """import torch


def fn(t):
    w = t.view(-1)
    k = torch.arange(w.numel()) // 3
    w[k] = w[k] - 5.0
    return t


def get_inputs():
    return [torch.arange(6.).reshape(2, 3)]
"""


def judged(pool: Pool, source: str) -> tuple[Program, Verdict]:
    program = parse_program(source, "program.py")
    return program, Judge(pool).check(program, demand=Demand(ladder=True))


def pasted(replay: str, repro: str, folder: Path) -> int:
    """The exit code of a shell that runs the replay line before ``python repro.py``; one Inductor cache for all runs in a folder."""
    (folder / "repro.py").write_text(repro)
    environment = {k: os.environ[k] for k in ("PATH", "LANG") if k in os.environ}
    environment |= {"HOME": str(folder), "TMPDIR": str(folder)}
    line = f"{replay} {sys.executable} repro.py"
    return subprocess.run(["sh", "-c", line], cwd=folder, env=environment, capture_output=True, timeout=300).returncode


@pytest.mark.quality
def test_the_guilty_graph_of_several_is_named_and_the_pasted_line_shows_it(pool: Pool, tmp_path: Path):
    program, verdict = judged(pool, SEVERAL)
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.stage is Stage.INDUCTOR
    assert verdict.graph == "2 of 3: torch_dynamo_resume_in_fn_at_6, line 6"
    assert verdict.guilty == "post_grad_passes reinplace_inplaceable_ops"
    environment, _, last = verdict.replay.rpartition("=")
    assert "TORCH_COMPILE_OVERRIDE_BACKENDS='<1:eager;>1:eager'" in environment
    assert replay_effect(verdict.replay) == f"shows it; TORCH_BISECT_MAX={int(last) - 1} hides it"
    text = repros(program, verdict)[0].text
    assert pasted("", text, tmp_path) == 1
    assert pasted(verdict.replay, text, tmp_path) == 1
    assert pasted(f"{environment}={int(last) - 1}", text, tmp_path) == 0
    assert pasted("TORCH_COMPILE_OVERRIDE_BACKENDS='1:eager'", text, tmp_path) == 0


@pytest.mark.quality
def test_at_stage_aot_the_graph_alone_is_named(pool: Pool, tmp_path: Path):
    program, verdict = judged(pool, ALIASED)
    assert verdict.stage is Stage.AOT
    assert verdict.graph == "1 of 2: fn, line 5"
    assert verdict.guilty is None
    assert verdict.replay == "TORCH_COMPILE_OVERRIDE_BACKENDS='>0:eager'"
    assert replay_effect(verdict.replay) == "shows it"
    text = repros(program, verdict)[0].text
    assert pasted(verdict.replay, text, tmp_path) == 1
    assert pasted("TORCH_COMPILE_OVERRIDE_BACKENDS='0:eager'", text, tmp_path) == 0


@pytest.mark.quality
def test_one_graph_needs_no_name(pool: Pool):
    _, verdict = judged(pool, HELPER)
    assert verdict.outcome is Outcome.MISMATCH
    assert verdict.graph == ""
    assert verdict.replay.startswith("TORCH_BISECT_BACKEND=")
