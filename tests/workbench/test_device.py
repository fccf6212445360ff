"""Programs on a GPU (``device = "cuda"``), and what is said where there is none."""

from __future__ import annotations

import pytest

from store.records import Configuration, Outcome, Program
from workbench.oracle.judge import Demand, Judge
from workbench.runner.protocol import Request
from workbench.servers import Pool

pytestmark = pytest.mark.torch

PROGRAM = "import torch\ndef fn(x):\n    return (x * 2).sum() {0}\ndef get_inputs():\n    return [torch.ones(8)]\n"
LITTLE = Demand(stage=False, confirm=False)


def has_gpu(pool: Pool) -> bool:
    source = "import torch\nprint(torch.cuda.is_available())\ndef fn(): pass\ndef get_inputs(): return []\n"
    return pool.run(Request("run", source)).output.strip() == "True"


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_without_a_gpu_a_program_for_one_is_invalid_with_one_clear_line(pool: Pool, device: str) -> None:
    if has_gpu(pool):
        pytest.skip("this machine has a GPU")
    verdict = Judge(pool).check(Program(PROGRAM.format(""), Configuration(device=device)))
    assert verdict.outcome is Outcome.INVALID
    assert verdict.reason.startswith(f'device "{device}": torch ')
    assert "without CUDA" in verdict.reason or "finds no cuda device" in verdict.reason
    assert "\n" not in verdict.reason


def test_a_device_that_torch_does_not_know_is_named(pool: Pool) -> None:
    verdict = Judge(pool).check(Program(PROGRAM.format(""), Configuration(device="abacus")))
    assert verdict.outcome is Outcome.INVALID
    assert verdict.reason == 'device "abacus" is none that torch knows'


@pytest.mark.gpu
@pytest.mark.parametrize(("end", "outcome"), [("", Outcome.AGREE), ("+ torch.compiler.is_compiling()", Outcome.MISMATCH)])
def test_a_program_is_judged_on_the_gpu_in_a_child_of_a_server_that_never_touched_it(pool: Pool, end: str, outcome: Outcome) -> None:
    if not has_gpu(pool):
        pytest.skip("no GPU here")
    program = Program(PROGRAM.format(end), Configuration(device="cuda"))
    assert Judge(pool).check(program, demand=LITTLE).outcome is outcome
    done = pool.run(Request("run", program.source, configuration={"device": "cuda"}))
    assert done.document is not None
    assert {leaf["device"] for leaf in done.document["leaves"]} == {"cuda:0"}
    assert pool.environment()["start"] == ""


@pytest.mark.gpu
def test_what_a_kernel_raises_counts_for_the_call_that_started_it(pool: Pool) -> None:
    if not has_gpu(pool):
        pytest.skip("no GPU here")
    source = "import torch\ndef fn(x):\n    return x[torch.tensor([99], device=x.device)]\ndef get_inputs():\n    return [torch.ones(8)]\n"
    done = pool.run(Request("run", source, configuration={"device": "cuda"}))
    assert done.document is not None
    assert (done.document["outcome"], done.document["where"]) == ("raised", "call")
