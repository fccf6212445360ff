"""What is really imported, in processes of their own: the screen brings no torch, the headless commands no Textual."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def loaded(code: str) -> set[str]:
    """Top-level names of the modules that a piece of code imports."""
    program = f"import sys\n{code}\nsys.stdout.write(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split("\n")[-1].split())


def test_the_screen_brings_no_torch():
    modules = loaded("import workbench.triage.app, workbench.triage.threads, workbench.commands.triage")
    assert "textual" in modules
    assert "torch" not in modules


def test_the_export_brings_neither():
    modules = loaded("import workbench.export.draft, workbench.export.gates, workbench.export.files, workbench.export.environment")
    assert not {"torch", "textual"} & modules


@pytest.mark.parametrize("words", [["list"], ["show", "3"], ["stats"], ["label", "3", "x"], ["state", "3", "triaged"], ["undo"]])
def test_headless_commands_bring_neither(db: Path, words: list[str]):
    call = f"from workbench.cli import group\ngroup.main({['--db', str(db), *words]!r}, standalone_mode=False)\nsys.stdout.write('\\n')"
    assert not {"torch", "textual"} & loaded(call)


def test_help_brings_only_click():
    call = "from workbench.cli import group\nfrom click.testing import CliRunner\nCliRunner().invoke(group, ['export', '--help'])"
    assert not {"torch", "textual", "sqlite_utils", "rich", "numpy"} & loaded(call)
