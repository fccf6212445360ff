"""A wheel installed into a fresh environment runs: command, package data and runner are all in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parent.parent.parent
PROGRAM = "import torch\n\n\ndef fn(x):\n    return x + 1\n\n\ndef get_inputs():\n    return [torch.ones(3)]\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment with the wheel; torch and the other dependencies are borrowed from the tests' own."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), str(wheel)], check=True)
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return environment / "bin"


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``workbench`` of the fresh environment, away from the source tree."""
    code = "from workbench.cli import main; main()"
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(
        [installed / "python", "-c", code, *words], capture_output=True, text=True, cwd=installed, env={**clean, "WORKBENCH_DB": str(installed / "w.db")}, check=False
    )


def test_the_wheel_holds_command_and_data(installed: Path):
    where = subprocess.run([installed / "python", "-c", "import workbench; print(workbench.__file__)"], capture_output=True, text=True, cwd=installed, check=True)
    assert str(installed.parent) in where.stdout
    assert "workbench" in run(installed, "--version").stdout
    assert len(run(installed, "seeds", "list").stdout.splitlines()) >= 30
    assert len(run(installed, "characteristics", "list").stdout.splitlines()) >= 8


def test_the_wheel_judges_a_program(installed: Path, tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = run(installed, "check", str(program), "--json", "--backend", "aot_eager", "--jobs", "1")
    assert json.loads(done.stdout)["verdict"] == "agree", done.stderr
