"""Texts that programs and other people's stores bring do nothing to the screen but stand on it."""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from textual.pilot import Pilot

from store import open_store
from store.records import Difference, Program, Signature, Symptom
from workbench.cli import group
from workbench.export.draft import draft
from workbench.export.gates import subject_of, unrun
from workbench.triage.app import TriageApp
from workbench.triage.bucket_screen import BucketScreen
from workbench.triage.differences_text import SHOWN
from workbench.triage.draft_screen import DraftScreen

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]

TEXTS = {
    "escape": "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "markup": "[red]markup[/red] [@click=app.quit]x[/] [/] [b",
    "direction": "\u202egnp\u202c \u2067x\u2069 שלום",
    "nul": "a\x00b\x00",
    "wide": "日本語👩\u200d👧" * 20,
    "huge": "x" * 300_000,
    "empty": "",
    "lines": "\n\r\n\t" * 1000,
}


@pytest.fixture
def hostile(db: Path, request: pytest.FixtureRequest) -> Path:
    """One finding of the store says this text wherever a finding can say something."""
    text = request.param
    with open_store(db) as store:
        verdict = store.verdict(40)
        told = Difference(f"return{text[:80]}", Symptom.VALUE, f"f{text[:20]}", (2,), 2, (), 1.0, 1.0, 1.0, text[:40], text)
        told = replace(told, elements=tuple(replace(e, eager=text, compiled=text, float64=text) for e in verdict.differences[0].elements))
        verdict = replace(verdict, reason=text, graph=text, guilty=text[:80] or None, replay=text, torch="2.13.0", differences=(told,))
        verdict = replace(verdict, ladder={"eager": text[:50]}, machine={"capability": text}, ruled_out=(text,))
        row = store.finding(40)
        store.add_finding(
            Program(text, name="hostile.py"), verdict, signature=Signature.from_text(row.signature, final=False), origin="import",
            seed_name=text[:60], mutators=(text[:60],),
        )  # fmt: skip
        assert store.count() == 41
    raw = sqlite3.connect(db)  # a title as an older workbench wrote it
    raw.execute("UPDATE findings SET title = ? WHERE id = 41", (text[:5000],))
    raw.commit()
    raw.close()
    return db


def acting(app: TriageApp) -> set[str]:
    """Characters on the screen that a terminal acts on or that are not seen."""
    drawn = {ch for strip in app.screen._compositor.render_strips() for segment in strip for ch in segment.text}
    return {ch for ch in drawn if unicodedata.category(ch) in ("Cc", "Cf") and ch != "\u200d"}


@pytest.mark.parametrize("hostile", TEXTS.values(), ids=TEXTS.keys(), indirect=True)
async def test_every_view_shows_it_and_none_obeys_it(hostile: Path, until: Until) -> None:
    app = TriageApp(hostile)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.pane.detail and app.findings.current == 41)
        for _ in range(5):
            assert not acting(app), app.pane.tab
            await pilot.press("right_square_bracket")
            await pilot.pause()
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, DraftScreen) and app.screen.view)
        assert not acting(app)
        await pilot.press("escape", "b")
        await until(pilot, lambda: isinstance(app.screen, BucketScreen) and app.screen.detail)
        assert not acting(app)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, BucketScreen))
        assert app.is_running


@pytest.mark.parametrize("hostile", [TEXTS["escape"]], ids=["escape"], indirect=True)
def test_show_and_list_obey_it_no_more(hostile: Path):
    for words in (["show", "41"], ["list"]):
        result = CliRunner().invoke(group, ["--db", str(hostile), *words])
        assert result.exit_code == 0, result.output
        assert not {ch for ch in result.stdout if unicodedata.category(ch) == "Cc"} - {"\n", "\t"}
    shown = CliRunner().invoke(group, ["--db", str(hostile), "show", "41"]).stdout
    assert "␛[2J␛]0;owned␇" in shown


def test_a_program_that_this_python_cannot_read_is_said_in_its_draft(db: Path):
    with open_store(db) as store:
        verdict, row = store.verdict(40), store.finding(40)
        signature = Signature.from_text(row.signature, final=False)
        store.add_finding(Program("type X = int\nmatch 1 =:\n"), verdict, signature=signature, origin="import")
        report = unrun(subject_of(store, 41))
    assert report.gates[0].name == "a repro can be made"
    assert "cannot read the program (" in report.gates[0].detail
    assert not report.met


async def test_a_fault_in_a_thread_is_told_and_the_screen_goes_on(db: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    app = TriageApp(db)

    def fails(finding_id: int) -> None:
        raise KeyError("a verdict of another kind\x1b[2J")

    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.pane.detail)
        monkeypatch.setattr(app.source, "detail", fails)
        await pilot.press("j")
        await until(pilot, lambda: "✗ detail: KeyError: 'a verdict of another kind" in str(app.status.content))
        await pilot.press("k")
        await until(pilot, lambda: app.findings.current == 40)


def test_a_title_cannot_end_the_comment_of_a_draft(db: Path):
    with open_store(db) as store:
        store.rename(1, "a --> <script> b", actor="me")
        made = draft(subject_of(store, 1), unrun(subject_of(store, 1)), None)
    assert "Proposed title: a - -> <script> b -->\n" in made.text


async def test_ten_thousand_differences_are_counted_and_some_are_drawn(db: Path, until: Until) -> None:
    with open_store(db) as store:
        verdict = store.verdict(40)
        many = tuple(replace(verdict.differences[1], path=f"return[{i}]") for i in range(10_000))
        row = store.finding(40)
        signature = Signature.from_text(row.signature, final=False)
        store.add_finding(Program("many = 1\n"), replace(verdict, differences=many), signature=signature, origin="fuzz")
    app = TriageApp(db)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: f"… {10_000 - SHOWN} more differences" in str(app.pane.query_one("#detail-text").content))  # type: ignore[attr-defined]
