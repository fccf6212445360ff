"""A store that cannot be used is one clear line with a hint, and nothing is lost."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from store import open_store
from store.errors import StoreError
from store.records import State


def refused(path, **how):
    """The error that opening this path gives."""
    with pytest.raises(StoreError) as caught:
        open_store(path, **how)
    assert caught.value.exit_code == 5
    assert caught.value.hint
    assert "\n" not in caught.value.message
    return caught.value.message


def test_missing_folder(tmp_path):
    assert "its folder does not exist" in refused(tmp_path / "no" / "store.db")


def test_folder_instead_of_a_file(tmp_path):
    assert "is a folder, not a store" in refused(tmp_path)


def test_reading_a_store_that_is_not_there_creates_none(path):
    assert "no store there yet" in refused(path, readonly=True)
    assert not path.exists()


def test_empty_file_is_nothing_to_read_and_a_beginning_for_writing(path):
    path.touch()
    assert "is empty" in refused(path, readonly=True)
    with open_store(path) as store:
        assert store.count() == 0


def test_too_old_sqlite_is_named(path, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 26, 0))
    assert "is too old" in refused(path)


def test_file_that_is_no_database_is_not_touched(path):
    path.write_text("dear diary, " * 200)
    for readonly in (False, True):
        assert "is no SQLite database" in refused(path, readonly=readonly)
    assert path.read_text() == "dear diary, " * 200
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_database_of_something_else_is_not_touched(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE findings (mine)")
    other.close()
    before = path.read_bytes()
    for readonly in (False, True):
        assert "is a database of something else" in refused(path, readonly=readonly)
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_newer_schema_is_refused_and_left_as_it_is(path, make):
    with open_store(path) as store:
        store.add_finding(**make())
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('workbench-store', '0999_later', 'then')")
        raw.execute("PRAGMA user_version = 999")
    for readonly in (False, True):
        assert "was written by a newer workbench (it has 0999_later)" in refused(path, readonly=readonly)
    assert raw.execute("SELECT count(*) FROM findings").fetchone()[0] == 1
    raw.close()


def test_upgrade_by_another_process_while_open_ends_writing_and_loses_nothing(path, make):
    with open_store(path) as store:
        row = store.add_finding(**make())
        with sqlite3.connect(path) as newer:
            newer.execute("PRAGMA user_version = 999")
        newer.close()
        with pytest.raises(StoreError, match="was upgraded by a newer workbench"):
            store.set_state([row.id], State.TRIAGED, actor="ann")
        assert store.finding(row.id).state is State.NEW


def test_file_deleted_while_open_is_noticed_before_anything_is_written_into_nowhere(path, make):
    with open_store(path) as store:
        store.add_finding(**make())
        path.unlink()
        with pytest.raises(StoreError, match="was deleted or replaced while in use"):
            store.add_finding(**make("return x * 2"))
    assert not path.exists()


def test_damaged_file_is_said_to_be_damaged(path, make):
    with open_store(path) as store:
        for number in range(50):
            store.add_finding(**make(f"return x * {number}"))
    data = bytearray(path.read_bytes())
    data[4096:-4096] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="is damaged"), open_store(path) as store:
        store.find()


def test_locked_store_waits_then_says_so(path, make):
    with open_store(path) as store:
        row = store.add_finding(**make())
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with open_store(path, timeout=0.1) as store:
        assert store.finding(row.id) == row  # reading goes on
        with pytest.raises(StoreError, match=r"is locked by another process \(waited 0.1 s\)"):
            store.add_finding(**make())
        holder.execute("ROLLBACK")
        holder.close()
        assert store.add_finding(**make()).count == 2


def test_writing_through_a_store_opened_for_reading(path, make):
    open_store(path).close()
    with open_store(path, readonly=True) as store, pytest.raises(StoreError, match="was opened for reading only"):
        store.add_finding(**make())


def test_closed_store_says_so(path):
    store = open_store(path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="was closed"):
        store.count()


def test_full_disk_keeps_everything_from_before(path, make):
    with open_store(path) as store:
        row = store.add_finding(**make())
        with store._connection.read() as c:
            pages = c.execute("PRAGMA page_count").fetchone()[0]
            c.execute(f"PRAGMA max_page_count = {pages}")
        fill_until_full(store, make)
        assert store.finding(row.id) == row
        with store._connection.read() as c:
            c.execute("PRAGMA max_page_count = 1000000")
        before = store.count()
        store.add_finding(**make("return x * 123456"))
        assert store.count() == before + 1


def test_really_full_disk(tmp_path, make):
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False).returncode
    ):
        pytest.skip("may not mount a small disk here")
    try:
        with open_store(disk / "store.db") as store:
            row = store.add_finding(**make())
            fill_until_full(store, make)
            assert store.finding(row.id) == row
            kept = store.find()
        with open_store(disk / "store.db", readonly=True) as store:
            assert store.find() == kept
            assert store._connection._raw.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    finally:
        subprocess.run(["umount", disk], check=True)


def fill_until_full(store, make):
    noise = os.urandom(30_000).hex()

    def fill():
        for number in range(200):
            store.add_finding(**make(f"return x * {number}  # {noise[number:]}"))

    with pytest.raises(StoreError, match="the disk is full; this change was not kept"):
        fill()


@contextmanager
def a_user_without_rights():
    """Root may write everywhere, so be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def everyones(make):
    """A store in a folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    with open_store(folder / "store.db") as store:
        store.add_finding(**make())
    (folder / "store.db").chmod(0o666)
    yield folder / "store.db"
    folder.chmod(0o777)
    shutil.rmtree(folder)


def test_read_only_file_is_refused_for_writing_and_readable(everyones):
    everyones.chmod(0o444)
    with a_user_without_rights():
        assert "is read-only" in refused(everyones)
        with open_store(everyones, readonly=True) as store:
            assert store.count() == 1


def test_read_only_folder_is_refused_for_writing_and_readable(everyones):
    everyones.parent.chmod(0o555)
    with a_user_without_rights():
        assert "is a read-only folder" in refused(everyones)
        with open_store(everyones, readonly=True) as store:
            assert store.count() == 1


def test_file_that_may_not_be_read(everyones):
    everyones.chmod(0o000)
    with a_user_without_rights():
        assert "may not be read by you" in refused(everyones, readonly=True)


def test_backup_is_a_whole_store_and_overwrites_nothing(path, tmp_path, make):
    copy = tmp_path / "copy.db"
    with open_store(path) as store:
        row = store.add_finding(**make())
        store.backup(copy)
        with pytest.raises(StoreError, match="exists already"):
            store.backup(copy)
        with pytest.raises(StoreError, match="its folder does not exist"):
            store.backup(tmp_path / "no" / "copy.db")
    with open_store(copy) as other:
        assert other.finding(row.id) == row
        other.label([row.id], add=["x"], actor="ann")
