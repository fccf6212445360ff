"""`workbench export`: what it prints and writes once the gates have answered. The gates themselves are run in test_gates."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from store import open_store
from store.records import Signature, State
from workbench.cli import group
from workbench.errors import WorkbenchError
from workbench.export.environment import Environment
from workbench.export.gates import Report, Subject, unrun


@pytest.fixture
def db(tmp_path: Path, subject: Callable[..., Subject]) -> Path:
    """A store with two findings of one bucket."""
    made = subject()
    with open_store(tmp_path / "s.db") as store:
        for source in (made.program.source, made.program.source.replace("[0, 2]", "[0, 3]")):
            signature = Signature(made.verdict.stage, None, made.verdict.symptoms, ("any",))
            store.add_finding(replace(made.program, source=source), made.verdict, signature=signature, origin="fuzz")
    return tmp_path / "s.db"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """What the gates about the repro answer instead of being run."""
    wanted = {"met": True}

    def answer(subject: Subject, **options: object) -> Report:
        report = unrun(subject)
        return replace(report, gates=tuple(replace(g, met=wanted["met"]) if g.met is None else g for g in report.gates))

    monkeypatch.setattr("workbench.export.gates.run_gates", answer)
    monkeypatch.setattr("workbench.export.environment.environment", lambda python=None: Environment("2.13.0", "AVX2", 2, "g++", "3.11"))
    return wanted


def run(db: Path, *words: str) -> Result:
    return CliRunner().invoke(group, ["--db", str(db), "export", *words])


def test_a_draft_goes_to_stdout_alone(db: Path, answers: dict[str, bool]):
    result = run(db, "1")
    assert result.exit_code == 0
    assert result.stdout.startswith("<!-- Proposed title:")
    assert "✓ exits zero with backend eager" in result.stderr


def test_files_are_written_into_a_folder(db: Path, answers: dict[str, bool], tmp_path: Path):
    result = run(db, "1", "2", "-o", str(tmp_path / "out"))
    assert result.stdout == ""
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["finding-1.md", "finding-1.py", "finding-2.md", "finding-2.py"]


def test_unmet_gates_refuse_with_exit_1_and_one_clear_line(db: Path, answers: dict[str, bool], tmp_path: Path):
    answers["met"] = False
    result = run(db, "1", "-o", str(tmp_path / "out"))
    assert isinstance(result.exception, WorkbenchError)
    assert result.exception.exit_code == 1
    assert "unmet gates" in result.exception.message
    assert "--force" in result.exception.hint
    assert result.stdout == ""
    assert not (tmp_path / "out").exists()


def test_force_drafts_all_the_same_and_the_first_line_says_so(db: Path, answers: dict[str, bool]):
    answers["met"] = False
    result = run(db, "1", "--force")
    assert result.exit_code == 0
    assert result.stdout.startswith("**FORCED DRAFT")


def test_a_member_of_a_reported_bucket_is_refused_though_its_repro_is_good(db: Path, answers: dict[str, bool]):
    with open_store(db) as store:
        store.set_state([2], State.REPORTED, actor="me")
    result = run(db, "1")
    assert isinstance(result.exception, WorkbenchError)
    assert "not a duplicate" in result.exception.message


def test_json_says_what_was_exported_and_what_was_not(db: Path, answers: dict[str, bool]):
    with open_store(db) as store:
        store.set_state([2], State.NOISE, actor="me")
    result = run(db, "1", "2", "--json")
    documents = json.loads(result.stdout)
    assert [d["exported"] for d in documents] == [True, False]
    assert documents[1]["unmet"][0]["name"] == "not noise"
    assert {"title", "labels", "draft", "repro", "files"} <= set(documents[0])
