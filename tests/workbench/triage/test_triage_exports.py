"""Many findings become drafts in one go: what is ready is written, what is not is told with its reason, nothing is lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from store import Store, open_store
from store.rows import JobKind, JobState
from workbench.export.environment import Environment
from workbench.export.gates import subject_of, unrun
from workbench.triage.app import TriageApp
from workbench.triage.ask_dialog import AskDialog
from workbench.triage.dialogs import ConfirmDialog
from workbench.triage.draft_screen import DraftScreen
from workbench.triage.export_screen import ExportScreen

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]
SIZE = (120, 36)


@pytest.fixture(autouse=True)
def versions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No test asks torch for its versions; a mark for each time somebody did."""
    asked: list[str] = []

    def environment() -> Environment:
        asked.append("asked")
        return Environment("2.13.0", "AVX512", "g++", 1, "collected")

    monkeypatch.setattr("workbench.triage.writer.environment", environment)
    return asked


def ran(store: Store, findings: Sequence[int], *, unmet: str = "") -> None:
    """The gates of these findings have been run, and all are met but ``unmet``."""
    for finding in findings:
        store.enqueue(JobKind.GATES, finding, actor="me")
        job = store.claim([JobKind.GATES], "worker")
        assert job is not None
        assert job.finding_id is not None
        report = unrun(subject_of(store, job.finding_id))
        gates = tuple(replace(gate, met=gate.name != unmet, detail="exit 0") for gate in report.gates)
        assert store.finish(job, replace(report, gates=gates, output="MISMATCH").to_json())
    store.leave("worker")


def head(app: TriageApp) -> str:
    return str(app.screen.query_one("#export-title").content)  # type: ignore[attr-defined]


def below(app: TriageApp) -> str:
    return str(app.screen.query_one("#export-text").content)  # type: ignore[attr-defined]


async def opened(pilot: Pilot[None], until: Until, count: int) -> ExportScreen:
    """Mark all shown and ask for the export."""
    app = pilot.app
    assert isinstance(app, TriageApp)
    await until(pilot, lambda: app.findings.current_row)
    await pilot.press("asterisk", "x")
    await until(pilot, lambda: isinstance(app.screen, ExportScreen) and len(app.screen.found) == count)
    screen = app.screen
    assert isinstance(screen, ExportScreen)
    return screen


async def into(pilot: Pilot[None], until: Until, folder: Path) -> None:
    """Answer the question for a folder."""
    await until(pilot, lambda: isinstance(pilot.app.screen, AskDialog) and isinstance(pilot.app.focused, Input))
    line = pilot.app.focused
    assert isinstance(line, Input)
    line.value = str(folder)
    await pilot.press("enter")


async def test_x_writes_what_is_ready_and_tells_what_is_refused_and_why(db: Path, until: Until, tmp_path: Path, versions: list[str]) -> None:
    with open_store(db) as store:
        ran(store, [1, 3])
        ran(store, [2], unmet="exits zero under TORCHDYNAMO_DISABLE=1")
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, until, 3)
        assert "Export 3 findings of 1 bucket: 2 ready, 1 unmet" in head(app)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, AskDialog))
        await pilot.press("enter")  # the folder that is proposed
        await until(pilot, lambda: screen.exported)
        folder = tmp_path / "drafts"
        assert sorted(p.name for p in folder.iterdir()) == ["finding-1.md", "finding-1.py", "finding-3.md", "finding-3.py"]
        assert not (folder / "finding-1.md").read_text().startswith("**FORCED")
        assert versions == ["asked"]
        await until(pilot, lambda: f"\n✓ 2 drafts written to {folder}" in head(app))
        await pilot.press("g")  # everything has been run
        await until(pilot, lambda: "every gate has been run" in head(app))
        await pilot.press("j")
        await until(pilot, lambda: "✗ exits zero under TORCHDYNAMO_DISABLE=1" in below(app))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert app.findings.marks.all(app.findings.ids, 0) == {2}, "what was not written stays marked"


async def test_g_queues_the_gates_that_were_not_run_and_the_list_fills_by_itself(
    db: Path, until: Until, tmp_path: Path, no_worker: list[Path]
) -> None:
    with open_store(db) as store:
        ran(store, [1])
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, until, 3)
        assert "1 ready, 2 not run" in head(app)
        await pilot.press("g")
        await until(pilot, lambda: "1 ready, 2 queued" in head(app))
        assert no_worker == [db]
        with open_store(db) as store:
            waiting = store.jobs(JobState.QUEUED, kind=JobKind.GATES)
            assert sorted(job.finding_id for job in waiting if job.finding_id) == [2, 3]
            ran(store, [2])  # what a worker does with the first in the queue; equal jobs are one
        await until(pilot, lambda: "2 ready, 1 queued" in head(app))


async def test_F_asks_and_then_writes_all_each_saying_what_is_unmet(db: Path, until: Until, tmp_path: Path) -> None:
    with open_store(db) as store:
        ran(store, [1])
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, until, 3)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("n")
        await until(pilot, lambda: app.screen is screen)
        assert not list(tmp_path.glob("**/*.md"))
        await pilot.press("F", "y")
        await into(pilot, until, tmp_path / "all")
        await until(pilot, lambda: screen.exported)
    assert {p.name: p.read_text().startswith("**FORCED") for p in (tmp_path / "all").glob("*.md")} == {
        "finding-1.md": False,
        "finding-2.md": True,
        "finding-3.md": True,
    }


async def test_nothing_is_written_over_and_nothing_is_lost_when_writing_fails(db: Path, until: Until, tmp_path: Path) -> None:
    with open_store(db) as store:
        ran(store, [1, 2, 3])
    (tmp_path / "finding-1.md").write_text("what a person wrote")
    (tmp_path / "finding-2.py").mkdir()  # nothing can be written there
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, until, 3)
        await pilot.press("w")
        await into(pilot, until, tmp_path)
        await until(pilot, lambda: screen.exported)
        assert (tmp_path / "finding-1.md").read_text() == "what a person wrote"
        assert (tmp_path / "finding-1-2.md").exists()
        assert (tmp_path / "finding-3.py").exists()
        await until(pilot, lambda: f"\n✓ 2 drafts written to {tmp_path}; refused: 2 (reasons below" in head(app))
        await pilot.press("j")
        await until(pilot, lambda: "✗ refused: " in below(app))
        assert "finding-2.py" in below(app)


async def test_a_folder_that_cannot_be_made_loses_nothing_and_is_said(db: Path, until: Until, tmp_path: Path) -> None:
    with open_store(db) as store:
        ran(store, [1, 2, 3])
    (tmp_path / "drafts").write_text("a file, no folder")
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, until, 3)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, AskDialog))
        await pilot.press("enter")
        await until(pilot, lambda: "\n✗ nothing written to " in head(app))
        assert "refused: 3, 2, 1" in head(app)
        assert "drafts: cannot be made" in below(app)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))
        assert app.findings.marks.all(app.findings.ids, 0) == {1, 2, 3}


async def test_a_finding_that_somebody_deletes_meanwhile_is_told_as_gone(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, until, 3)
        with open_store(db) as store:
            store.delete([2], actor="bob")
        await until(pilot, lambda: "1 gone" in head(app))
        await pilot.press("F", "y")
        await into(pilot, until, tmp_path)
        await until(pilot, lambda: screen.exported)
    assert sorted(p.name for p in tmp_path.glob("*.md")) == ["finding-1.md", "finding-3.md"]


async def test_hidden_marks_are_not_exported_and_that_is_said(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("space")
        app.bar.set_text("bucket:1")
        await until(pilot, lambda: app.findings.ids == [3, 2, 1])
        await pilot.press("space", "space", "x")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen) and len(app.screen.found) == 2)
        assert "(1 more marked, hidden by the filter: not touched)" in head(app)


async def test_enter_shows_a_draft_and_escape_comes_back_to_the_list_of_many(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot, until, 3)
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, DraftScreen) and app.screen.view)
        assert app.screen.finding_id == 2  # type: ignore[attr-defined]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)


async def test_one_mark_away_from_the_cursor_is_what_x_shows(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("space", "x")  # marks 3, the cursor goes on to 2
        await until(pilot, lambda: isinstance(app.screen, DraftScreen))
        assert app.screen.finding_id == 3  # type: ignore[attr-defined]
