"""What a person makes of a program in the editor is queued and told, and never thrown away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner
from textual.pilot import Pilot

from store import Store, open_store
from store.records import Configuration
from store.rows import JobKind
from workbench.cli import group
from workbench.programs import parse_program
from workbench.triage.app import TriageApp

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]
SIZE = (140, 40)


def said(app: TriageApp) -> str:
    """The status line."""
    return str(app.status.content)


def read(db: Path, question: Callable[[Store], object]) -> object:
    with open_store(db, readonly=True) as store:
        return question(store)


@pytest.fixture
def editor(db: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An editor that puts ``text`` behind the program; ``given`` is what it was given; ``meanwhile`` somebody may delete finding 40."""
    told = {"text": ""}

    def edit(source: str, name: str) -> str:
        told["given"] = source
        if told.get("meanwhile") == "delete":
            with open_store(db) as store:
                store.delete([40], actor="somebody")
        return source + told["text"]

    monkeypatch.setattr("workbench.triage.edits.edit", edit)
    monkeypatch.setattr("workbench.triage.app.TriageApp.suspend", lambda self: nullcontext())
    return told


async def test_e_queues_a_changed_program_and_says_what_came_of_it(
    db: Path, until: Until, editor: dict[str, str], tmp_path: Path, no_worker: list[Path]
) -> None:
    editor["text"] = "# changed\n"
    app = TriageApp(db, folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("e")
        await until(pilot, lambda: "edit of finding 40 queued as job 1; worker started" in said(app))
        (job,) = read(db, lambda s: s.jobs())
        assert (job.kind, job.finding_id, job.payload) == (JobKind.EDIT, 40, {"program": editor["given"] + "# changed\n"})
        assert no_worker == [db]
        assert not list(tmp_path.glob("*edited*"))
        with open_store(db) as store:
            store.finish(store.claim([JobKind.EDIT], "w"), {"verdict": "mismatch", "became": 39})
        await until(pilot, lambda: "✓ edit of finding 40: mismatch, now finding 39" in said(app))
        with open_store(db) as store:
            store.enqueue(JobKind.EDIT, 40, {"program": "x"}, actor="me")
            store.finish(store.claim([JobKind.EDIT], "w"), {"verdict": "agree", "reason": "nothing differs"})
        await until(pilot, lambda: "✓ edit of finding 40: agree, nothing differs; no finding" in said(app))
        with open_store(db) as store:
            store.enqueue(JobKind.EDIT, 40, {"program": "y"}, actor="me")
            store.fail(store.claim([JobKind.EDIT], "w"), "no torch")
        await until(pilot, lambda: "✗ edit of finding 40: no torch; its text: workbench show 40 --edit 3" in said(app))
        await pilot.press("w")
        await until(pilot, lambda: "edit of finding 40: mismatch, finding 39" in str(app.screen.query_one("#work-text").content))
    result = CliRunner().invoke(group, ["--db", str(db), "show", "40", "--edit", "1"], standalone_mode=False)
    assert result.stdout == job.payload["program"]
    missing = CliRunner().invoke(group, ["--db", str(db), "show", "39", "--edit", "1"], standalone_mode=False)
    assert missing.exception.message == "no edit 1 of finding 39"


async def test_an_edit_says_the_configuration_that_the_finding_was_judged_under(db: Path, until: Until, editor: dict[str, str]) -> None:
    app = TriageApp(db, query="bucket:1")  # finding 1 is dynamic, and its text does not say so
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        while app.findings.current != 1:
            await pilot.press("j")
        await until(pilot, lambda: app.pane.detail and app.pane.detail.row.id == 1)
        await pilot.press("e")
        assert parse_program(editor["given"], "x").configuration == app.pane.detail.program.configuration == Configuration(dynamic=True)


async def test_an_unchanged_program_queues_nothing(db: Path, until: Until, editor: dict[str, str], tmp_path: Path) -> None:
    app = TriageApp(db, folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("e")
        await until(pilot, lambda: "unchanged: nothing was queued" in said(app))
        assert read(db, lambda s: s.jobs()) == []
        assert not list(tmp_path.glob("*edited*"))


@pytest.mark.parametrize("broken", ["parse", "finding", "folder"])
async def test_an_edit_that_cannot_be_queued_is_kept_as_a_file(
    db: Path, until: Until, editor: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    editor["text"] = "# changed\n" if broken == "finding" else "def (:\n"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    app = TriageApp(db, folder=tmp_path / "nowhere" if broken == "folder" else tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        editor["meanwhile"] = "delete" if broken == "finding" else ""
        await pilot.press("e")
        await until(pilot, lambda: "✗ edit kept as" in said(app))
        assert ("no finding 40" if broken == "finding" else "finding-40-edited.py, line 15: syntax error") in said(app)
        (kept,) = tmp_path.rglob("finding-40-edited.py")
        assert kept.read_text() == editor["given"] + editor["text"]
        assert read(db, lambda s: s.jobs()) == []
