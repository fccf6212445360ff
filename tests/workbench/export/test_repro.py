"""Repros are readable, use torch alone, and take no name from the program. That they run is tested in test_gates."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from store.records import Configuration, NoiseKind, Symptom
from workbench.errors import WorkbenchError
from workbench.export.form import form_of
from workbench.export.gates import Subject
from workbench.export.repro import repros

STATEFUL = """import torch

box = []


def fn(x):
    box.append(1)
    return x + len(box)


def get_inputs():
    return [torch.ones(2)]
"""

MODEL = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)

    def forward(self, x):
        return self.linear(x)


def get_init_inputs():
    return [3]


def get_inputs():
    return [torch.ones(2, 3)]


def drive(fn, inputs):
    return fn(*inputs), fn(*inputs)
"""


def modules(text: str) -> set[str]:
    """Top-level names of what a text imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("symptom", list(Symptom))
@pytest.mark.parametrize("source", ["stateless", "stateful", "model"])
@pytest.mark.parametrize("grad", [False, True])
def test_every_repro_is_python_that_uses_torch_alone(subject: Callable[..., Subject], symptom: Symptom, source: str, grad: bool):
    paths = ("return[0]", "inputs[1]", "gradients.inputs[0]", "parameters.linear.weight", "globals.box[0]")
    made = subject(symptoms=(symptom,), paths=paths, configuration=Configuration(grad=grad))
    sources = {"stateless": made.program.source, "stateful": STATEFUL, "model": MODEL}
    made = subject(sources[source], (symptom,), paths, configuration=Configuration(grad=grad))
    for repro in repros(made.program, made.verdict, "a\ntitle"):
        assert modules(repro.text) <= {"torch", "os", "sys", "types"}
        assert "workbench" not in repro.text
        compile(repro.text, "repro.py", "exec")


def test_a_stateless_value_repro_is_what_a_person_would_write(subject: Callable[..., Subject]):
    made = subject()
    text = repros(made.program, made.verdict)[0].text
    assert "exec(" not in text
    assert "torch.testing.assert_close(compiled, eager, equal_nan=True)" in text
    assert text.count("\n") < 55


def test_a_program_that_keeps_state_is_executed_anew(subject: Callable[..., Subject]):
    made = subject(STATEFUL)
    assert all("exec(" in r.text for r in repros(made.program, made.verdict))


@pytest.mark.parametrize(
    ("source", "stateless"),
    [
        ("import torch\nN = 3\ndef fn(x):\n    return x\n", True),
        ("import torch\nT = torch.ones(3)\ndef fn(x):\n    return x + T\n", False),
        ("def fn(x, seen=[]):\n    return x\n", False),
        ("def fn(x):\n    global n\n    n = 1\n    return x\n", False),
        ("def fn(x):\n    fn.calls = 1\n    return x\n", False),
        ("class Model:\n    scale = 2\n    def forward(self, x):\n        self.n = 1\n        return x\n", True),
        ("class Model:\n    seen = []\n", False),
        ("import torch\n@torch.no_grad()\ndef fn(x):\n    return x\n", False),
    ],
)
def test_stateless_means_that_functions_may_simply_be_called_again(source: str, stateless: bool):
    assert form_of(source).stateless is stateless


@pytest.mark.torch
@pytest.mark.parametrize("symptoms", [(Symptom.DTYPE,), (Symptom.DTYPE, Symptom.MODES)], ids=["lean", "anew"])
def test_what_the_program_leaves_switched_is_put_back_before_the_compiled_run(
    subject: Callable[..., Subject], symptoms: tuple[Symptom, ...], tmp_path: Path
):
    """Without a compiler at work both runs are alike only if both begin alike."""
    source = (
        "import torch\n\n\ndef fn(x):\n    kept = torch.get_default_dtype()\n    torch.set_default_dtype(torch.float64)\n"
        "    return torch.zeros(1, dtype=kept)\n\n\ndef get_inputs():\n    return [torch.ones(2)]\n"
    )
    made = subject(source, symptoms)
    for number, repro in enumerate(repros(made.program, made.verdict)):
        (tmp_path / f"{number}.py").write_text(repro.text)
        done = subprocess.run(
            [sys.executable, str(tmp_path / f"{number}.py")], env={**os.environ, "TORCHDYNAMO_DISABLE": "1"}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_names_of_the_program_are_left_alone(subject: Callable[..., Subject]):
    source = "import torch\n\n\ndef run(x):\n    return x\n\n\nbackend = 3\nwalk = same = main = load = types = 1\n\n\ndef fn(x):\n    return run(x) + backend\n\n\ndef get_inputs():\n    return [torch.ones(2)]\n"
    made = subject(source, (Symptom.STRUCTURE,))
    for repro in repros(made.program, made.verdict):
        tree = ast.parse(repro.text)
        defined = [n.name for n in tree.body if isinstance(n, ast.FunctionDef)]
        assigned = [t.id for n in tree.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
        for name in ("run", "backend", "walk", "same", "main", "load", "types"):
            assert (defined + assigned).count(name) == 1, (repro.style, name)
        assert "backend=backend_of_check" in repro.text


def test_the_configuration_becomes_plain_code(subject: Callable[..., Subject]):
    configuration = Configuration(
        backend="aot_eager",
        mode="max-autotune",
        dynamic=True,
        fullgraph=True,
        threads=2,
        seed=5,
        inductor={"cpp.simdlen": 0},
        dynamo={"x": "y"},
    )
    made = subject(configuration=configuration)
    text = repros(made.program, made.verdict)[0].text
    for wanted in (
        'os.environ.get("REPRO_BACKEND", "aot_eager")',
        'mode="max-autotune" if backend == "inductor" else None',
        "dynamic=True",
        "fullgraph=True",
        "torch.set_num_threads(2)",
        "torch.manual_seed(5)",
        "torch._inductor.config.cpp.simdlen = 0",
        "torch._dynamo.config.x = 'y'",
    ):
        assert wanted in text


def test_gradients_are_tried_through_leaves_and_through_clones(subject: Callable[..., Subject]):
    made = subject(symptoms=(Symptom.GRADIENT,), paths=("gradients.inputs[0]",), configuration=Configuration(grad=True))
    styles = [r.style for r in repros(made.program, made.verdict)]
    assert styles == ["lean", "anew", "lean, clone", "anew, clone"]


def test_script_form_has_no_repro_and_says_what_to_do(subject: Callable[..., Subject]):
    made = subject("import torch\ntorch.compile(lambda x: x)(torch.ones(1))\n")
    with pytest.raises(WorkbenchError, match="script form") as caught:
        repros(made.program, made.verdict)
    assert "minimize" in caught.value.hint


def test_an_excused_difference_is_not_compared(subject: Callable[..., Subject]):
    made = subject(paths=("return", "inputs[0]"))
    noisy = replace(made.verdict.differences[1], excused=NoiseKind.ROUNDING)
    excused = replace(made.verdict, differences=(made.verdict.differences[0], noisy))
    assert '"inputs": inputs' in repros(made.program, made.verdict)[0].text
    assert '"inputs": inputs' not in repros(made.program, excused)[0].text
