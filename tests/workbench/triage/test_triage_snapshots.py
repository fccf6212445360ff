"""What the screens look like. Few on purpose: everything else asserts on state. `pytest --snapshot-update` takes new ones after a look at them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from workbench.triage.app import TriageApp
from workbench.triage.dialogs import StateDialog
from workbench.triage.draft_screen import DraftScreen

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
    return app.findings.current_row is not None and app.pane.detail is not None


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


def test_without_colour_the_signs_say_everything(snap_compare, db: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(db.parent)
    app = TriageApp(Path(db.name), query="bucket:1")

    async def ready(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shown(app))
        await pilot.press("space", "right_square_bracket")
        await until(pilot, lambda: app.pane.detail.row.id == 2 and app.pane.tab == "differences")

    assert snap_compare(app, terminal_size=(80, 30), run_before=ready)
