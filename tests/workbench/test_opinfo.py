"""Seeds from torch's operator samples: programs in harness form, by operator first, the same for the same number, run by eager."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.errors import RunnerError
from workbench.oracle.judge import Judge
from workbench.oracle.runs import Setting
from workbench.seeds import bundled, opinfo, seeds_of
from workbench.servers import Pool


def test_a_path_asks_for_samples_by_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert opinfo.wanted(Path("opinfo")) == opinfo.DEFAULT
    assert opinfo.wanted(Path("opinfo:7")) == 7
    assert opinfo.wanted(Path("opinfo:")) is None
    assert opinfo.wanted(Path("other/opinfo:7")) is None
    (tmp_path / "opinfo").mkdir()
    assert opinfo.wanted(Path("opinfo")) is None


def test_bundled_seeds_can_be_named_beside_others(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def fn(x):\n    return x\ndef get_inputs():\n    return [1]\n")
    found = seeds_of([Path("bundled"), tmp_path / "mine.py"])
    assert [s.name for s in found] == [*(s.name for s in bundled()), "mine"]


def test_an_interpreter_without_torch_is_one_clear_error(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named torch' >&2\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(RunnerError, match="No module named torch"):
        opinfo.sources(3, python=str(python))


@pytest.mark.torch
def test_each_of_a_few_samples_is_of_another_operator_and_eager_runs_it(pool: Pool) -> None:
    seeds = seeds_of([Path("opinfo:40")], seed=3)
    assert len({s.about for s in seeds}) >= 38  # one operator may come in two variants
    assert all(s.origin == "opinfo" for s in seeds)
    judge = Judge(pool, Setting("untrusted"))
    for seed in seeds[:8]:
        verdict = judge.check(replace(seed.program, configuration=seed.configuration.with_(backend="eager")))
        assert verdict.outcome.value in ("agree", "noise", "mismatch"), (seed.name, verdict.reason, seed.program.source)
    again = opinfo.sources(40, seed=3)
    assert [source for _, source in again] == [s.program.source for s in seeds]
