"""``workbench doctor``: the truth about this machine, and exit code 3 when nothing can be judged."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from store import open_store
from workbench.commands import doctor
from workbench.runner.layers import LAYERS
from workbench.servers import Pool


def ask(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(doctor.command, list(arguments), standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, result.output


def test_without_a_runner_it_says_no_and_exits_3(tmp_path: Path) -> None:
    code, text = ask("--python", str(tmp_path / "nowhere"), "--db", str(tmp_path / "w.db"))
    assert code == 3
    assert "NO  runner" in text
    assert "cannot be judged" in text


def test_a_store_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "w.db").write_text("no database at all, though it is long enough to be read as one" * 20)
    code, text = ask("--python", str(tmp_path / "nowhere"), "--db", str(tmp_path / "w.db"), "--json")
    checks = {check["name"]: check for check in json.loads(text)["checks"]}
    assert code == 3
    assert checks["store"]["state"] == "missing"


def test_a_store_of_an_older_workbench_keeps_nobody_from_judging(tmp_path: Path) -> None:
    open_store(tmp_path / "w.db").close()
    with sqlite3.connect(tmp_path / "w.db") as raw:
        raw.execute("DELETE FROM _sqlite_migrations WHERE name = (SELECT max(name) FROM _sqlite_migrations)")
    raw.close()
    _, text = ask("--python", str(tmp_path / "nowhere"), "--db", str(tmp_path / "w.db"), "--json")
    checks = {check["name"]: check for check in json.loads(text)["checks"]}
    assert checks["store"]["state"] == "warning"
    assert "of an older workbench" in checks["store"]["detail"]


def test_keys_are_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    _, text = ask("--python", str(tmp_path / "nowhere"), "--db", str(tmp_path / "w.db"))
    assert "OPENAI_API_KEY set" in text
    assert "sk-secret" not in text


def test_every_missing_layer_is_a_warning_with_its_loss() -> None:
    checks = list(doctor._isolation(list(LAYERS)))
    assert [check.name for check in checks] == list(LAYERS)
    assert all(check.state == "warning" and LAYERS[check.name] in check.detail for check in checks)


@pytest.mark.torch
def test_on_a_machine_with_torch_all_parts_are_named(pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = pool.environment()
    monkeypatch.setattr(Pool, "environment", lambda self: found)
    code, text = ask("--db", str(tmp_path / "w.db"))
    assert code == 0
    assert str(found["torch"]) in text
    assert all(layer in text for layer in LAYERS)
