"""Whatever another process does to the store, the screen stays up, says what is the matter, and nothing that was kept is lost."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from store import open_store, times
from workbench.triage.app import TriageApp
from workbench.triage.bucket_screen import BucketScreen
from workbench.triage.dialogs import LabelDialog
from workbench.triage.work_screen import WorkScreen

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]
SIZE = (140, 40)


def said(app: TriageApp) -> str:
    return str(app.status.content)


async def label(app: TriageApp, pilot: Pilot[None], until: Until, name: str) -> None:
    await pilot.press("l")
    await until(pilot, lambda: isinstance(app.screen, LabelDialog))
    line = app.focused
    assert isinstance(line, Input)
    line.value = name
    await pilot.press("enter")


async def test_a_store_that_a_newer_workbench_upgrades_is_left_alone_and_said(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        raw = sqlite3.connect(db)
        raw.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('workbench-store', '9999_future', '2027')")
        raw.execute("PRAGMA user_version = 9999")
        raw.commit()
        raw.close()
        await label(app, pilot, until, "late")
        await until(pilot, lambda: "newer workbench" in said(app))
        assert len(app.findings.ids) == 40
        await pilot.press("j", "b")
        await until(pilot, lambda: isinstance(app.screen, BucketScreen))
        await pilot.press("escape")
    raw = sqlite3.connect(db)
    assert raw.execute("SELECT count(*) FROM finding_labels").fetchone() == (0,)
    raw.close()


async def test_a_store_that_is_held_exclusively_is_said_and_read_again_afterwards(
    db: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.triage.source.PATIENCE", 0.1)
    monkeypatch.setattr("workbench.triage.writer.PATIENCE", 0.1)
    holder = sqlite3.connect(db, isolation_level=None)
    holder.execute("PRAGMA journal_mode = DELETE")  # nobody reads beside a writer any more
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        holder.execute("PRAGMA busy_timeout = 20000")
        holder.execute("BEGIN EXCLUSIVE")
        await until(pilot, lambda: "locked by another process" in said(app))
        await label(app, pilot, until, "x")
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, WorkScreen))
        await pilot.press("escape")
        assert len(app.findings.ids) == 40
        holder.execute("ROLLBACK")
        holder.close()
        await until(pilot, lambda: "can be read again" in said(app))
        await label(app, pilot, until, "y")
        await until(pilot, lambda: app.findings.current_row.labels == ("y",))


async def test_a_store_that_is_replaced_by_another_is_shown_instead(db: Path, until: Until, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    open_store(other).close()
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        for suffix in ("-wal", "-shm"):
            db.with_name(db.name + suffix).unlink(missing_ok=True)
        os.replace(other, db)
        await until(pilot, lambda: not app.findings.ids)
        assert "No findings yet" in app.findings.empty[0]


async def test_a_full_disk_is_said_and_what_was_kept_is_there(until: Until, db: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("may not mount a small disk here")
    try:
        path = disk / "findings.db"
        with open_store(db) as store:
            store.backup(path)
        app = TriageApp(path)
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: app.pane.detail)
            await label(app, pilot, until, "before")
            await until(pilot, lambda: "changed" in said(app))
            filler = disk / "filler"
            with filler.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            for number in range(40):  # the log beside the store has some room left
                await label(app, pilot, until, f"full{number}")
                await until(pilot, lambda n=number: f"full{n}" in said(app) or "✗" in said(app))
                if "✗" in said(app):
                    break
            assert "the disk is full" in said(app)
            assert len(app.findings.ids) == 40
            kept = set(app.findings.current_row.labels)
            filler.unlink()
            await label(app, pilot, until, "after")
            await until(pilot, lambda: "after" in app.findings.current_row.labels)
            assert kept | {"before"} <= set(app.findings.current_row.labels)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


async def test_a_worker_that_dies_is_no_longer_said_to_run_when_its_lease_is_over(
    db: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(db) as store:
        store.enqueue("gates", 1, actor="me")
        assert store.claim(["gates"], "doomed", 3600)
    app = TriageApp(db)
    async with app.run_test(size=(140, 30)) as pilot:
        await until(pilot, lambda: "▸ 1 running (1 worker)" in str(app.status.content))
        monkeypatch.setattr(times, "now", lambda plus=0.0: "2999-01-01T00:00:00.000Z")  # nobody commits: only time goes by
        await until(pilot, lambda: "… 1 queued (no worker: w, then W starts one)" in str(app.status.content))
