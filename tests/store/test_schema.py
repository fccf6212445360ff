"""The file: migrated forward without loss, and readable for any SQLite tool."""

import re
import sqlite3

import pytest

from store import open_store, schema
from store.errors import StoreError
from store.records import State


@pytest.fixture
def filled(path, make):
    with open_store(path) as store:
        for number in range(5):
            store.add_finding(**make(f"return x * {number}"))
        store.set_state([1], State.TRIAGED, actor="ann")
    return path


def later(monkeypatch, change):
    """A workbench that knows one migration more."""
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, ("9999_next", change)))


def test_older_store_is_migrated_once_and_keeps_everything(filled, monkeypatch):
    later(monkeypatch, lambda db: db.execute("ALTER TABLE findings ADD COLUMN severity TEXT NOT NULL DEFAULT 'high'"))
    for _ in range(2):
        with open_store(filled) as store:
            assert store.count() == 5
            assert store.undo("ann").startswith("undone: state")
            store.redo("ann")
    raw = sqlite3.connect(filled)
    assert raw.execute("SELECT DISTINCT severity FROM findings").fetchall() == [("high",)]
    assert [row[0] for row in raw.execute("SELECT name FROM _sqlite_migrations ORDER BY id")] == [*(name for name, _ in schema.MIGRATIONS)]
    raw.close()


def test_migration_that_fails_half_way_leaves_the_store_as_it_was(filled, monkeypatch):
    def broken(db):
        db.execute("DELETE FROM finding_ops")
        db.execute("ALTER TABLE findings ADD COLUMN severity TEXT")
        raise RuntimeError("half way")

    with monkeypatch.context() as patched:
        later(patched, broken)
        with pytest.raises(RuntimeError, match="half way"):
            open_store(filled)
    with open_store(filled) as store:
        assert store.count("op:flip") == 5


def test_older_store_is_not_migrated_by_reading(filled, monkeypatch):
    later(monkeypatch, lambda db: None)
    with pytest.raises(StoreError, match="is of an older workbench"):
        open_store(filled, readonly=True)


def test_other_sqlite_tools_see_plain_tables_integer_ids_iso_times_and_views(filled):
    raw = sqlite3.connect(filled)
    names = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table in ("findings", "buckets", "signatures", "events", "jobs", "runs", "campaigns", "blobs", "workers", "memo", "llm_calls"):
        assert table in names
        columns = {row[1]: row for row in raw.execute(f"PRAGMA table_info({table})")}
        assert columns["id"][2] == "INTEGER"
        assert columns["id"][5] == 1
    assert {row[2] for row in raw.execute("PRAGMA foreign_key_list(findings)")} == {
        "buckets",
        "signatures",
        "blobs",
        "findings",
        "campaigns",
    }
    for table, column in (("findings", "created"), ("findings", "seen"), ("events", "at"), ("buckets", "created")):
        for (at,) in raw.execute(f"SELECT {column} FROM {table}"):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at)
    assert raw.execute("SELECT state FROM triage WHERE id = 1").fetchone() == ("triaged",)
    assert raw.execute("SELECT members FROM bucket_sizes").fetchone() == (5,)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_program_texts_are_compressed_and_out_of_the_findings_rows(path, make):
    with open_store(path) as store:
        store.add_finding(**make("return x  # " + "filler " * 2000))
    raw = sqlite3.connect(path)
    size, stored = raw.execute("SELECT size, length(data) FROM blobs WHERE kind = 'program'").fetchone()
    assert stored < size / 10
    assert sum(len(str(value)) for value in raw.execute("SELECT * FROM findings").fetchone()) < 1000
    raw.close()
