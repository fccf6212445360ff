"""Remembered verdicts: everything that could change one is in the key, and programs that reach outside are never remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from store import open_store
from store.records import Configuration, Outcome, Program, Verdict
from workbench.commands import check
from workbench.oracle.judge import VERSION, Demand, Judge
from workbench.oracle.memo import ENVIRONMENT, Memo, self_contained
from workbench.oracle.runs import Setting
from workbench.runner.protocol import Request
from workbench.servers import Pool, Run

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
        "print(__file__)",
    ],
)
def test_programs_that_reach_outside_are_never_remembered(source: str):
    assert not self_contained(source)


def test_ordinary_programs_are():
    assert self_contained("import math\nimport torch\nimport torch.nn.functional as F\nfrom dataclasses import dataclass\n")


ALL_OF_THE_KEY = {
    "arguments": Setting(argv=("--large",)),
    "a test": Setting(test="test_one"),
    "what was asked for on the command line": Setting(said=frozenset({"grad"})),
    "asserts": Setting(asserts=False),
}


class Asked:
    """A pool that counts requests and gives no observation: what is not remembered ends undecided."""

    def __init__(self) -> None:
        self.count = 0

    def run(self, request: Request) -> Run:
        self.count += 1
        return Run("died", detail="never mind")


@pytest.mark.parametrize("name", ALL_OF_THE_KEY)
def test_another_way_of_running_is_another_key(memory, name: str):
    asked = Asked()
    memo = Memo(memory, MACHINE, VERSION)
    judge = Judge(asked, memo=memo)
    memo.put(PROGRAM, key_of(judge, Setting()), VERDICT)
    assert judge.check(PROGRAM).outcome is Outcome.AGREE
    assert asked.count == 0
    judge.check(PROGRAM, setting=ALL_OF_THE_KEY[name])
    assert asked.count == 1


@pytest.mark.parametrize("demand", [Demand(), Demand(threads=True, ladder=True), Demand(threads=True, confirm=False)])
def test_another_demand_is_another_key(memory, demand: Demand):
    asked = Asked()
    memo = Memo(memory, MACHINE, VERSION)
    judge = Judge(asked, memo=memo)
    memo.put(PROGRAM, key_of(judge, Setting()), VERDICT)
    judge.check(PROGRAM, demand=demand)
    assert asked.count == 1


def key_of(judge: Judge, setting: Setting) -> str:
    """What the judge says was asked for, seen through a memo that only listens."""
    heard: list[str] = []

    class Listening:
        def get(self, program: Program, demand: str) -> Verdict:
            heard.append(demand)
            return VERDICT

    Judge(Asked(), memo=Listening()).check(PROGRAM, setting=setting)  # type: ignore[arg-type]
    return heard[0]


SIBLING = "import torch\nfrom helper import wrong\ndef fn(x):\n    return x + (1 if torch.compiler.is_compiling() and wrong else 0)\n"


@pytest.mark.torch
def test_an_edited_sibling_module_is_seen(memory, pool: Pool, tmp_path: Path):
    program = Program(SIBLING + "def get_inputs():\n    return [torch.ones(2)]\n", Configuration(backend="eager"), str(tmp_path / "program.py"))
    judge = Judge(pool, Setting("own", str(tmp_path)), Memo(memory, MACHINE, VERSION))
    (tmp_path / "helper.py").write_text("wrong = False\n")
    assert judge.check(program).outcome is Outcome.AGREE
    (tmp_path / "helper.py").write_text("wrong = True\n")
    assert judge.check(program).outcome is Outcome.MISMATCH


@pytest.mark.torch
def test_the_second_check_compiles_nothing_unless_it_is_to_be_fresh(tmp_path: Path):
    file = tmp_path / "program.py"
    file.write_text('# /// workbench\n# backend = "eager"\n# ///\nimport torch\ndef fn(x):\n    return x + 1\ndef get_inputs():\n    return [torch.ones(2)]\n')

    def took(*options: str) -> str:
        done = CliRunner().invoke(check.command, [str(file), "--db", str(tmp_path / "w.db"), *options], standalone_mode=False)
        assert done.exception is None, done.exception
        return done.output

    assert "eager" in took()
    assert "compiled" not in took()
    assert "compiled" in took("--fresh")
