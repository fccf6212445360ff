"""Remembered verdicts: everything that could change one is in the key, and programs that reach outside are never remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from store import open_store
from store.records import Configuration, Outcome, Program, Verdict
from workbench.oracle.memo import ENVIRONMENT, Memo, self_contained

MACHINE = {name: name for name in ENVIRONMENT}
PROGRAM = Program("import torch\n", Configuration())
VERDICT = Verdict(Outcome.AGREE, "same")


@pytest.fixture
def memory(tmp_path: Path):
    with open_store(tmp_path / "w.db") as store:
        yield store


def test_a_verdict_is_remembered(memory):
    Memo(memory, MACHINE, 1).put(PROGRAM, "", VERDICT)
    assert Memo(memory, MACHINE, 1).get(PROGRAM, "") == VERDICT


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_another_machine_or_torch_is_another_key(memory, name: str):
    Memo(memory, MACHINE, 1).put(PROGRAM, "", VERDICT)
    assert Memo(memory, {**MACHINE, name: "other"}, 1).get(PROGRAM, "") is None


def test_source_configuration_threads_demand_and_oracle_version_are_in_the_key(memory):
    memo = Memo(memory, MACHINE, 1)
    memo.put(PROGRAM, "", VERDICT)
    assert memo.get(Program("import torch\n\n", Configuration()), "") is None
    assert memo.get(Program(PROGRAM.source, Configuration(threads=2)), "") is None
    assert memo.get(Program(PROGRAM.source, Configuration(inductor={"cpp.simdlen": 0})), "") is None
    assert memo.get(PROGRAM, "ladder") is None
    assert Memo(memory, MACHINE, 2).get(PROGRAM, "") is None


def test_an_undecided_verdict_is_not_remembered(memory):
    memo = Memo(memory, MACHINE, 1)
    memo.put(PROGRAM, "", Verdict(Outcome.UNDECIDED, "timeout"))
    assert memo.get(PROGRAM, "") is None


@pytest.mark.parametrize(
    "source",
    [
        "import mymodule",
        "from . import sibling",
        "import os",
        "import time",
        "open('x')",
        "import torch\ntorch.load('w.pt')",
        "exec('1')",
        "__import__('os')",
        "import torch\nx = torch.from_file('f')",
    ],
)
def test_programs_that_reach_outside_are_never_remembered(source: str):
    assert not self_contained(source)


def test_ordinary_programs_are():
    assert self_contained("import math\nimport torch\nimport torch.nn.functional as F\nfrom dataclasses import dataclass\n")
