"""The headless triage commands: what they print, what they change, how they end."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from store import open_store
from store.records import State
from workbench.cli import group
from workbench.errors import NotFoundError, StoreError, WorkbenchError


def run(db: Path, *words: str, wanted: type[BaseException] | None = None) -> Result:
    """Run a command on a store; ``wanted``: the error that it must end with."""
    result = CliRunner().invoke(group, ["--db", str(db), *words])
    if wanted is not None:
        assert isinstance(result.exception, wanted), result.output
    else:
        assert result.exit_code == 0, result.output
    return result


def test_list_prints_a_line_a_finding_newest_first_with_the_query_of_the_screen(db: Path):
    lines = run(db, "list", "bucket:1").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["3", "2", "1"]
    assert run(db, "list", "--limit", "2", "--order", "id").stdout.splitlines()[0].startswith("1\t")
    assert run(db, "list", "--", "-bucket:1").stdout.count("\n") == 37


def test_list_json_is_one_document_with_every_field(db: Path):
    rows = json.loads(run(db, "list", "--json", "bucket:1").stdout)
    assert [row["id"] for row in rows] == [3, 2, 1]
    assert {"title", "state", "stage", "symptoms", "labels", "reduction", "signature"} <= set(rows[0])
    assert json.loads(run(db, "list", "--json", "label:none-such").stdout) == []


def test_list_says_in_the_error_what_the_filter_should_be(db: Path):
    error = run(db, "list", "stat:new", wanted=WorkbenchError).exception
    assert "stat" in error.message
    assert "state" in error.hint


def test_show_prints_verdict_program_history_and_the_next_command(db: Path):
    text = run(db, "show", "3").stdout
    assert "verdict     mismatch" in text
    assert "    return torch.flip(x)" in text
    assert text.strip().endswith("next: workbench export 3")
    assert run(db, "show", "4").stdout.strip().endswith("next: workbench minimize 4")
    assert "any() on uint8" in run(db, "show", "3", "--original").stdout


def test_show_json_holds_source_verdict_and_events(db: Path):
    document = json.loads(run(db, "show", "3", "--json").stdout)
    assert document["verdict"]["verdict"] == "mismatch"
    assert "torch.flip" in document["source"]
    assert document["events"]


def test_what_is_not_there_ends_with_not_found(db: Path):
    for words in (("show", "999"), ("label", "999", "a"), ("state", "999", "noise"), ("delete", "999", "--yes"), ("export", "999")):
        assert run(db, *words, wanted=NotFoundError).exception.exit_code == 4


def test_a_store_that_is_not_there_is_an_error_and_is_not_created(tmp_path: Path):
    missing = tmp_path / "none.db"
    for words in (("list",), ("show", "1"), ("label", "1", "a"), ("undo",), ("stats",)):
        assert run(missing, *words, wanted=StoreError).exception.exit_code == 5
    assert not missing.exists()


def test_labels_are_put_on_and_taken_off_and_undone_over_processes(db: Path):
    run(db, "label", "3", "4", "+silent", "odd")
    run(db, "label", "3", "-odd")
    with open_store(db) as store:
        assert store.finding(3).labels == ("silent",)
        assert store.finding(4).labels == ("odd", "silent")
    run(db, "undo")
    with open_store(db) as store:
        assert store.finding(3).labels == ("odd", "silent")
    run(db, "undo", "--redo")
    with open_store(db) as store:
        assert store.finding(3).labels == ("silent",)


def test_label_needs_numbers_and_a_label(db: Path):
    assert "no finding number" in run(db, "label", "silent", wanted=WorkbenchError).exception.message
    assert "no label" in run(db, "label", "3", wanted=WorkbenchError).exception.message


def test_state_is_set_with_a_reason_and_a_typing_error_is_guessed(db: Path):
    run(db, "state", "3", "4", "triaged", "--why", "looked at it")
    with open_store(db) as store:
        assert store.finding(4).state is State.TRIAGED
        assert store.events(4)[0].why == "looked at it"
    error = run(db, "state", "3", "triagd", wanted=WorkbenchError).exception
    assert 'Did you mean "triaged"?' in error.hint


def test_duplicate_needs_the_original(db: Path):
    run(db, "state", "3", "duplicate", wanted=WorkbenchError)
    run(db, "state", "3", "duplicate", "--of", "1")
    with open_store(db) as store:
        assert store.finding(3).duplicate_of == 1


def test_delete_never_asks_without_a_terminal_and_deletes_nothing(db: Path):
    error = run(db, "delete", "3", wanted=WorkbenchError).exception
    assert "--yes" in error.hint
    with open_store(db) as store:
        assert store.finding(3)
    run(db, "delete", "3", "--yes")
    with open_store(db) as store:
        assert store.count() == 39


def test_stats_count_what_is_there(db: Path):
    document = json.loads(run(db, "stats", "--json").stdout)
    assert document["findings"] == 40
    assert sum(document["by"]["stage"].values()) == 40
    assert document["by"]["reduction"]["done"] == 1
    assert "state\tnew\t40" in run(db, "stats").stdout


def test_stats_do_not_call_a_campaign_running_that_was_killed(db: Path):
    with open_store(db) as store:
        killed, alive = store.start_campaign({}), store.start_campaign({})
    with sqlite3.connect(db) as raw:
        raw.execute("UPDATE campaigns SET updated = '2026-01-01T00:00:00.000Z' WHERE id = ?", (killed,))
    raw.close()
    lines = run(db, "stats").stdout.splitlines()
    assert any(line.startswith(f"{killed}\tsilent\t") for line in lines)
    assert any(line.startswith(f"{alive}\trunning\t") for line in lines)
    document = json.loads(run(db, "stats", "--json").stdout)
    assert {c["id"]: c["silent"] for c in document["campaigns"]} == {killed: True, alive: False}


def test_a_store_is_not_upgraded_under_a_campaign_of_an_older_workbench(db: Path):
    with open_store(db) as store:
        campaign = store.start_campaign({})
    with sqlite3.connect(db) as raw:
        raw.execute("DROP INDEX finding_symptoms_finding")
        raw.execute("DELETE FROM _sqlite_migrations WHERE name = '0004_symptoms_by_finding'")
    raw.close()
    assert "at work on it" in run(db, "stats", wanted=StoreError).exception.message
    with sqlite3.connect(db) as raw:
        raw.execute("UPDATE campaigns SET state = 'finished' WHERE id = ?", (campaign,))
    raw.close()
    assert "finished" in run(db, "stats").stdout


def test_triage_without_a_terminal_names_the_commands_that_need_none(db: Path):
    assert "workbench list" in run(db, "triage", wanted=WorkbenchError).exception.hint


@pytest.mark.parametrize("name", ["list", "show", "label", "state", "undo", "export", "delete", "stats", "triage", "import", "backup", "prune", "recheck"])
def test_every_command_explains_itself(name: str):
    result = CliRunner().invoke(group, [name, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output
