"""What the host side must not import, proven in fresh processes (DESIGN §12); and that help stays cheap because of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEADLESS = ("store", "reducers", "workbench.cli", "workbench.commands.list", "workbench.commands.show", "workbench.commands.check", "workbench.oracle.judge")


def loaded(module: str) -> set[str]:
    """Top-level packages in memory after importing a module in a fresh process."""
    code = f"import sys, {module}; print('\\n'.join({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", [*HEADLESS, "workbench.triage", "workbench.fuzz.campaign", "workbench.export.draft"])
def test_no_torch_on_the_host_side(module: str):
    assert "torch" not in loaded(module)


@pytest.mark.parametrize("module", [*HEADLESS, "workbench.fuzz.campaign", "workbench.export.draft"])
def test_only_triage_brings_textual(module: str):
    assert "textual" not in loaded(module)


def test_the_command_group_alone_brings_neither_numpy_nor_the_store():
    assert not {"numpy", "sqlite_utils", "rich", "deepdiff", "openai"} & loaded("workbench.cli")
