"""What the screens look like. Few on purpose: everything else asserts on state. `pytest --snapshot-update` takes new ones after a look at them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from store import Store, open_store
from workbench.triage.app import TriageApp
from workbench.triage.bucket_screen import BucketScreen
from workbench.triage.dialogs import StateDialog
from workbench.triage.draft_screen import DraftScreen
from workbench.triage.export_screen import ExportScreen
from workbench.triage.work_screen import WorkScreen

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]


@pytest.fixture
def app(db: Path, monkeypatch: pytest.MonkeyPatch) -> TriageApp:
    """The app on a path that is the same everywhere, with one choice of colours."""
    monkeypatch.chdir(db.parent)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    made = TriageApp(Path(db.name), query="bucket:1")
    made.theme = "textual-dark"
    return made


def shown(app: TriageApp) -> bool:
    """The list has its rows and the detail its finding."""
    return app.findings.current_row is not None and app.pane.detail is not None and bool(app.tab_bar.counts)


@pytest.mark.parametrize("size", [(80, 24), (140, 36), (200, 60)], ids=["80x24", "140x36", "200x60"])
def test_list_and_program(snap_compare, app: TriageApp, until: Until, size: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))

    assert snap_compare(app, terminal_size=size, run_before=ready)


def test_differences_with_marks(snap_compare, app: TriageApp, until: Until) -> None:  # type: ignore[no-untyped-def]
    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("space", "space", "right_square_bracket")
        await until(pilot, lambda: app.pane.detail.row.id == 1 and app.pane.tab == "differences")

    assert snap_compare(app, terminal_size=(140, 36), run_before=ready)


def test_state_dialog(snap_compare, app: TriageApp, until: Until) -> None:  # type: ignore[no-untyped-def]
    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, StateDialog))

    assert snap_compare(app, terminal_size=(100, 30), run_before=ready)


def test_draft_preview(snap_compare, app: TriageApp, until: Until) -> None:  # type: ignore[no-untyped-def]
    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, DraftScreen) and app.screen.view)

    assert snap_compare(app, terminal_size=(110, 36), run_before=ready)


@pytest.mark.parametrize("size", [(80, 24)], ids=["80x24"])
def test_export_of_many(snap_compare, app: TriageApp, db: Path, until: Until, size: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    with open_store(db) as store:
        store.enqueue("gates", 2, actor="me")

    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("asterisk", "x")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen) and len(app.screen.found) == 3)

    assert snap_compare(app, terminal_size=size, run_before=ready)


def test_without_colour_the_signs_say_everything(snap_compare, db: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(db.parent)
    app = TriageApp(Path(db.name), query="bucket:1")

    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("space", "right_square_bracket")
        await until(pilot, lambda: app.pane.detail.row.id == 2 and app.pane.tab == "differences")

    assert snap_compare(app, terminal_size=(80, 30), run_before=ready)


def test_light_and_narrow(snap_compare, app: TriageApp, until: Until) -> None:  # type: ignore[no-untyped-def]
    app.theme = "textual-light"

    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("space", "right_square_bracket", "right_square_bracket")
        await until(pilot, lambda: app.pane.detail.row.id == 2 and app.pane.tab == "configuration")

    assert snap_compare(app, terminal_size=(80, 24), run_before=ready)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_buckets(snap_compare, db: Path, until: Until, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(db.parent)
    app = TriageApp(Path(db.name))
    app.theme = "textual-dark"

    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BucketScreen) and app.screen.detail)
        await pilot.press("space", "space", "j")
        await until(pilot, lambda: app.screen.detail.bucket.id == app.screen.list.current)

    assert snap_compare(app, terminal_size=size, run_before=ready)


def test_work(snap_compare, tmp_path: Path, until: Until, filled: Callable[[Store, int], None], monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("store.times.now", lambda plus=0.0: "2026-12-01T09:00:01.000Z" if plus > 0 else "2026-12-01T09:00:00.000Z")
    monkeypatch.chdir(tmp_path)
    with open_store(Path("work.db")) as store:
        filled(store, 6)
        for tests in (80, 400):
            number = store.start_campaign({"seed": 3, "seconds": 600.0, "jobs": 2, "strategy": "rules"})
            counters = {"tests": tests, "valid": tests - 9, "mismatches": 12, "noise": 7, "errors": 2, "undecided": 1, "seconds": tests / 2}
            store.update_campaign(number, {**counters, "tests_per_second": 2.0, "by_mutator": {"view": {"buckets": 4}}})
        store.finish_campaign(1)
        store.enqueue("recheck", 6, actor="me")
        store.fail(store.claim(["recheck"], "w0"), "the runner died: out of memory")
        store.enqueue("reduce", 5, actor="me")
        store.claim(["reduce"], "host:1:0", 600)
        store.save_progress(5, {"progress": {"statements": 14, "calls": 33, "compiles": 20}})
        store.enqueue("gates", 4, actor="me")
    app = TriageApp(Path("work.db"))
    app.theme = "textual-dark"

    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, WorkScreen) and app.screen.detail)

    assert snap_compare(app, terminal_size=(100, 30), run_before=ready)
