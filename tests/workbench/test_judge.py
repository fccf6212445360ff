"""The judge on real torch: a sample of programs with known verdicts, and every kind of verdict. ``make quality`` has all cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from store.records import LADDER, NoiseKind, Outcome, Stage, Symptom, Verdict, Warning
from workbench.oracle.judge import Judge
from workbench.oracle.runs import Setting
from workbench.programs import parse_program, read_program
from workbench.runner.protocol import Limits
from workbench.servers import Pool

pytestmark = pytest.mark.torch

CASES = Path(__file__).parent.parent / "cases"
ROWS = {row["file"]: row for row in map(json.loads, (CASES / "cases.jsonl").read_text().splitlines())}
SAMPLE = (
    "issue_179804.py",  # silent: gradient at aot
    "issue_185888.py",  # silent: structure at dynamo
    "issue_195422.py",  # silent: alias through identity at aot
    "issue_196596_c.py",  # silent: nan at decomposition
    "issue_197582.py",  # silent: self-reading write at inductor
    "own_q13.py",  # silent: alias at inductor
    "own_q15.py",  # silent: rng at inductor
    "issue_178480.py",  # missing_error
    "issue_190271.py",  # loud
    "issue_174050.py",  # loud at dynamo
    "planted_bfleak.py",
    "planted_instcancel.py",
    "issue_118959.py",  # negative: input reused
    "issue_141645.py",  # negative: random stream
    "issue_150114.py",  # negative: nudge
    "issue_150165.py",  # negative: rounding by the shadow
    "noise_quantbf.py",
    "noise_randbf.py",
    "own_11.py",  # negative: low precision
    "issue_116221.py",  # clean: saved tensor hooks
    "issue_93829.py",
    "own_p39.py",  # clean: guards over several calls
)


@pytest.fixture
def judge(pool: Pool) -> Judge:
    return Judge(pool)


def check(judge: Judge, source: str, **limits: float) -> Verdict:
    setting = Setting(limits=Limits(seconds=limits.get("seconds", 120.0)))
    return judge.check(parse_program(source, "program.py"), setting=setting)


def check_case(judge: Judge, name: str) -> None:
    row = ROWS[name]
    verdict = judge.check(read_program(CASES / name), setting=Setting("own", str(CASES)))
    told = f"{name}: {verdict.outcome} {verdict.symptoms} {verdict.stage} {verdict.reason}"
    assert verdict.outcome.value in row["verdict"], told
    if row.get("symptoms_any"):
        assert {s.value for s in verdict.symptoms} & set(row["symptoms_any"]), told
    if row.get("stage"):
        assert verdict.stage is not None, told
        assert verdict.stage.value == row["stage"], told


@pytest.mark.parametrize("name", SAMPLE)
def test_verdict_is_as_known(judge: Judge, name: str):
    check_case(judge, name)


@pytest.mark.quality
@pytest.mark.parametrize("name", [n for n in ROWS if n not in SAMPLE])
def test_verdict_is_as_known_for_all_cases(judge: Judge, name: str):
    check_case(judge, name)


def test_a_program_without_a_callable_is_invalid_with_a_reason(judge: Judge):
    verdict = check(judge, "import torch\nx = 1\n")
    assert verdict.outcome is Outcome.INVALID
    assert "fn" in verdict.reason


def test_an_import_that_fails_is_invalid_with_its_line(judge: Judge):
    verdict = check(judge, "import torch\nimport no_such_module\n")
    assert verdict.outcome is Outcome.INVALID
    assert "no_such_module" in verdict.reason
    assert "line 2" in verdict.reason


def test_raising_alike_on_both_sides_is_invalid(judge: Judge):
    verdict = check(judge, "import torch\ndef fn(x):\n    return x.view(7)\ndef get_inputs():\n    return [torch.ones(2)]\n")
    assert verdict.outcome is Outcome.INVALID
    assert "line 3" in verdict.reason


def test_a_program_that_loops_for_ever_is_undecided(judge: Judge):
    verdict = check(judge, "def fn(x):\n    while True: pass\ndef get_inputs():\n    return [1]\n", seconds=3)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "longer than 3 s" in verdict.reason


def test_a_program_that_kills_itself_is_undecided(judge: Judge):
    verdict = check(judge, "import os\ndef fn(x):\n    os._exit(0)\ndef get_inputs():\n    return [1]\n")
    assert verdict.outcome is Outcome.UNDECIDED
    assert check(judge, "def fn(x):\n    return x\ndef get_inputs():\n    return [1]\n").outcome is Outcome.AGREE


def test_an_eager_that_is_not_reproducible_is_told(judge: Judge):
    source = "import os, torch\ndef fn(x):\n    return x + int.from_bytes(os.urandom(2), 'big')\ndef get_inputs():\n    return [torch.zeros(3)]\n"
    verdict = check(judge, source)
    assert verdict.outcome is Outcome.NOISE
    assert verdict.noise is not None
    assert verdict.noise.kind in (NoiseKind.NONDETERMINISTIC, NoiseKind.UNINITIALISED)


def test_uninitialised_memory_is_noise(judge: Judge):
    source = "import torch\ndef fn(x):\n    return torch.empty(5000) * 2 + x\ndef get_inputs():\n    return [torch.zeros(5000)]\n"
    verdict = check(judge, source)
    assert verdict.outcome in (Outcome.AGREE, Outcome.NOISE), verdict.reason


def test_a_mismatch_tells_stage_ladder_elements_and_float64(judge: Judge):
    verdict = judge.check(read_program(CASES / "issue_195422.py"), setting=Setting("own", str(CASES)))
    assert verdict.stage is Stage.AOT
    assert verdict.ladder[LADDER[Stage.DYNAMO]] == "agree"
    assert verdict.ladder["inductor"] == "mismatch"
    first = verdict.differences[0]
    assert first.elements[0].eager == "5"
    assert first.elements[0].float64 == "5.0"
    assert Symptom.MUTATION in verdict.symptoms


def test_the_guilty_pass_is_named_with_a_replay_line(judge: Judge):
    verdict = judge.check(read_program(CASES / "issue_197582.py"), ladder=True, setting=Setting("own", str(CASES)))
    assert verdict.guilty_asked
    assert verdict.guilty is not None
    assert "reinplace" in verdict.guilty
    assert verdict.replay.startswith("TORCH_BISECT_BACKEND=inductor TORCH_BISECT_SUBSYSTEM=post_grad_passes TORCH_BISECT_MAX=")


def test_a_program_that_asks_if_it_is_compiled_is_warned_about(judge: Judge):
    verdict = judge.check(read_program(CASES / "planted_roundmode.py"), setting=Setting("own", str(CASES)))
    assert Warning.ASKS_IF_COMPILED in verdict.warnings


def test_an_untrusted_program_may_have_the_name_of_a_file_that_it_may_not_read(judge: Judge, tmp_path: Path):
    named = tmp_path / "own.py"
    named.write_text("import torch\ndef fn(x):\n    return x + 1\ndef get_inputs():\n    return [torch.ones(3)]\n")
    verdict = judge.check(read_program(named), setting=Setting("untrusted"))
    assert verdict.outcome is Outcome.AGREE, verdict.reason


def test_a_verdict_survives_json(judge: Judge):
    verdict = judge.check(read_program(CASES / "own_q15.py"), setting=Setting("own", str(CASES)))
    document = verdict.to_json()
    assert Verdict.from_json(json.loads(json.dumps(document))).to_json() == document
