"""import, backup and prune on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from store import Store, open_store
from store.llm_calls import Asked
from store.records import Outcome, Program, Signature, Stage, State, Symptom, Verdict
from workbench.cli import group
from workbench.errors import StoreError, WorkbenchError

AGREES = "import torch\n\n\ndef fn(x):\n    return x + 1\n\n\ndef get_inputs():\n    return [torch.ones(3)]\n"
DIFFERS = "import torch\n\n\ndef fn(x):\n    return x + 1 if torch.compiler.is_compiling() else x\n\n\ndef get_inputs():\n    return [torch.ones(3)]\n"


def run(db: Path, *words: str, wanted: type[BaseException] | None = None) -> Result:
    result = CliRunner().invoke(group, ["--db", str(db), *words])
    if wanted is not None:
        assert isinstance(result.exception, wanted), result.output
    else:
        assert result.exit_code == 0, result.output
    return result


def test_a_store_is_imported_and_undo_takes_it_back(db: Path, tmp_path: Path, filled: Callable[[Store, int, int], None]):
    other = tmp_path / "other.db"
    with open_store(other) as store:
        filled(store, 3, 100)
        store.label([1], add=["theirs"], actor="bob")
    document = json.loads(run(db, "import", str(other), "--json").stdout)[0]
    assert (document["new"], document["known"], document["source"]) == (3, 0, str(other))
    with open_store(db) as store:
        assert store.count() == 43
        assert store.count("label:theirs") == 1
    assert "0 new findings" in run(db, "import", str(other)).stderr
    run(db, "undo")
    run(db, "undo", "--redo")
    with open_store(db) as store:
        assert store.count() == 43


def test_an_import_says_what_it_leaves_behind(db: Path, tmp_path: Path, filled: Callable[[Store, int, int], None]):
    other = tmp_path / "other.db"
    with open_store(other) as store:
        filled(store, 2, 100)
        store.enqueue("gates", 1, actor="bob")
        store.finish(store.claim(["gates"], "worker"), {"gates": []})
        store.enqueue("reduce", 1, actor="bob")
        store.enqueue("reduce", 2, actor="bob")
        store.add_llm_call(Asked("mutant", "mutate/1", "[]", "model", "host", "key", "valid"))
    told = run(db, "import", str(other)).stderr
    assert "the gates of 1" in told
    assert "left in other.db: 1 LLM call and 2 jobs not done there" in told
    document = json.loads(run(db, "import", str(other), "--json").stdout)[0]
    assert (document["gates"], document["left_calls"], document["left_jobs"]) == (0, 1, 2)


def test_what_is_no_store_and_no_program_is_said(db: Path, tmp_path: Path):
    assert "no such file" in run(db, "import", str(tmp_path / "none"), wanted=WorkbenchError).exception.message
    (tmp_path / "empty").mkdir()
    assert "no Python file" in run(db, "import", str(tmp_path / "empty"), wanted=WorkbenchError).exception.message
    foreign = tmp_path / "foreign.db"
    import sqlite3

    raw = sqlite3.connect(foreign)
    raw.execute("CREATE TABLE x (y)")
    raw.commit()
    raw.close()
    assert "something else" in run(db, "import", str(foreign), wanted=StoreError).exception.message
    assert "this store itself" in run(db, "import", str(db), wanted=StoreError).exception.message


@pytest.mark.torch
def test_a_folder_is_judged_each_content_once(tmp_path: Path):
    folder, db = tmp_path / "programs", tmp_path / "new.db"
    folder.mkdir()
    for name, text in (("a", AGREES), ("b", DIFFERS), ("b2", DIFFERS), ("c", "def (")):
        (folder / f"{name}.py").write_text(text)
    document = json.loads(run(db, "import", str(folder), "--json", "--reduce").stdout)[0]
    assert (document["judged"], document["known"], document["unreadable"]) == (2, 1, 1)
    assert document["verdicts"] == {"agree": 1, "mismatch": 1}
    with open_store(db) as store:
        (row,) = store.find()
        assert (row.origin, row.seed, row.count) == ("import", "b", 1)
        assert [j.finding_id for j in store.jobs()] == [row.id]
        assert store.verdict(row.id).torch
        store.set_state([row.id], State.EXPECTED, actor="ann")
    again = json.loads(run(db, "import", str(folder), "--json").stdout)[0]
    assert (again["known"], again["findings"]) == (2, [])
    with open_store(db) as store:
        assert [(r.count, r.state) for r in store.find()] == [(1, State.EXPECTED)]


def test_backup_prints_the_path_of_a_whole_store_and_overwrites_nothing(db: Path, tmp_path: Path):
    path = Path(run(db, "backup").stdout.strip())
    assert path.parent == db.parent
    with open_store(path, readonly=True) as store:
        assert store.count() == 40
    assert "exists already" in run(db, "backup", str(path), wanted=StoreError).exception.message


def test_prune_asks_looks_and_forgets(db: Path):
    run(db, "delete", "1", "2", "--yes")
    assert "--yes" in run(db, "prune", wanted=WorkbenchError).exception.hint
    assert "would forget 0 deleted findings" in run(db, "prune", "--dry-run").stderr
    assert "would forget 2 deleted findings" in run(db, "prune", "--dry-run", "--older", "0m").stderr
    run(db, "undo")
    run(db, "delete", "1", "2", "--yes")
    assert json.loads(run(db, "prune", "--older", "0m", "--yes", "--json").stdout)["findings"] == 2
    with open_store(db) as store:
        assert store.count() == 38
    assert "no age" in run(db, "prune", "--older", "soon", wanted=WorkbenchError).exception.message


@pytest.mark.torch
def test_recheck_tells_what_still_shows_regresses_what_was_fixed_and_fixes_what_is_gone(tmp_path: Path):
    db = tmp_path / "again.db"
    with open_store(db) as store:
        for text in (DIFFERS, DIFFERS.replace("x + 1", "x + 2"), AGREES):
            judged = Verdict(Outcome.MISMATCH, "differs", (Symptom.VALUE,), stage=Stage.DYNAMO, torch="2.6.0")
            store.add_finding(Program(text), judged, signature=Signature(Stage.DYNAMO, None, (Symptom.VALUE,), ("add",)), origin="fuzz")
        store.set_state([2], State.FIXED, actor="ann", torch="2.7.0")
    documents = json.loads(run(db, "recheck", "--json", "--fix").stdout)
    assert [(d["finding"], d["verdict"], d["before"], d["state"]) for d in documents] == [
        (1, "mismatch", "new", "new"),
        (2, "mismatch", "fixed", "regressed"),
        (3, "agree", "new", "fixed"),
    ]
    with open_store(db) as store:
        assert [r.purpose for r in store.runs(1)] == ["recheck"]
        assert store.finding(3).fixed_torch == documents[2]["torch"]


def test_recheck_says_when_nothing_matches(db: Path):
    assert "no finding matches" in run(db, "recheck", "label:none-such").stderr
    assert json.loads(run(db, "recheck", "label:none-such", "--json").stdout) == []
