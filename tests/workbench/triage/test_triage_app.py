"""Every key of the triage app does what its help says, on a store of synthetic findings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import HelpPanel, Input, OptionList

from store import Store, open_store
from store.records import State
from store.rows import JobKind
from workbench.triage import messages
from workbench.triage.app import TriageApp
from workbench.triage.dialogs import ConfirmDialog, LabelDialog, StateDialog
from workbench.triage.draft_screen import DraftScreen

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]
SIZE = (140, 40)


def said(app: TriageApp) -> str:
    """The status line."""
    return str(app.status.content)


def shown(app: TriageApp) -> str:
    """The text in the detail pane."""
    return str(app.pane.query_one("#detail-text").content)  # type: ignore[attr-defined]


def read(db: Path, question: Callable[[Store], object]) -> object:
    with open_store(db, readonly=True) as store:
        return question(store)


async def type_in(pilot: Pilot[None], text: str) -> None:
    """Type a text, character by character."""
    app = pilot.app
    assert isinstance(app.focused, Input)
    app.focused.value = text
    app.focused.cursor_position = len(text)
    await pilot.pause()


async def test_it_opens_on_the_newest_finding_with_its_program(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail is not None)
        assert app.findings.current == 40
        assert "40 findings" in said(app)
        assert "torch.roll(x) + 39" in shown(app)


async def test_j_k_g_G_move_and_the_preview_follows(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("j", "j", "k")
        assert app.findings.current == 39
        await pilot.press("G")
        assert app.findings.current == 1
        await until(pilot, lambda: app.pane.detail and app.pane.detail.row.id == 1)
        await pilot.press("g")
        assert app.findings.current == 40
        await pilot.press("ctrl+d")
        assert app.findings.current < 30
        await pilot.press("ctrl+u")
        assert app.findings.current == 40


async def test_filter_is_applied_while_typing_and_escape_takes_it_back(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("slash")
        await type_in(pilot, "bucket:1")
        await until(pilot, lambda: app.findings.ids == [3, 2, 1])
        assert "3 of 40 findings" in said(app)
        await pilot.press("enter")
        assert app.findings.has_focus
        await pilot.press("slash")
        await type_in(pilot, "bucket:2")
        await until(pilot, lambda: app.findings.ids == [6, 5, 4])
        await pilot.press("escape")
        await until(pilot, lambda: app.findings.ids == [3, 2, 1])


async def test_a_wrong_filter_is_explained_in_place_and_the_list_stays(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("slash")
        await type_in(pilot, "stat:new")
        await until(pilot, lambda: app.bar.has_class("-wrong"))
        assert 'unknown key "stat"' in str(app.bar.query_one("#query-hint").content)  # type: ignore[attr-defined]
        assert len(app.findings.ids) == 40


async def test_no_match_says_how_to_go_back(db: Path, until: Until) -> None:
    app = TriageApp(db, query="label:nothing")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "None of 40" in app.findings.empty[0])
        assert app.pane.detail is None


async def test_brackets_change_the_tab(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "finite:large" in shown(app))
        assert "255.0" in shown(app)  # compiled, of the worst element
        assert "▒" in shown(app)  # the picture
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "aot_eager_decomp_partition" in shown(app))
        assert "post_grad_passes" in shown(app)
        assert "TORCH_BISECT_MAX=7" in shown(app)
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "only with a certain number of threads" in shown(app))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "created" in shown(app))
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: "torch.roll" in shown(app))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: "created" in shown(app))


async def test_o_shows_reduced_original_and_both(db: Path, until: Until) -> None:
    app = TriageApp(db, query="bucket:1")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail and app.pane.detail.row.id == 3)
        assert shown(app).startswith("reduced, 1 statements")
        await pilot.press("o")
        await until(pilot, lambda: shown(app).startswith("original (o"))
        await pilot.press("o")
        await until(pilot, lambda: "│" in shown(app))
        assert any(line.startswith("- ") for line in shown(app).split("\n"))


async def test_label_is_written_and_undone_and_redone(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LabelDialog))
        await type_in(pilot, "+silent odd")
        await pilot.press("enter")
        await until(pilot, lambda: "+silent" in said(app))
        assert read(db, lambda s: s.finding(40).labels) == ("odd", "silent")
        await until(pilot, lambda: app.findings.current_row.labels == ("odd", "silent"))
        await pilot.press("u")
        await until(pilot, lambda: "undone" in said(app))
        assert read(db, lambda s: s.finding(40).labels) == ()
        await pilot.press("Z")
        await until(pilot, lambda: "odd" in app.findings.current_row.labels)
        await pilot.press("z")
        await until(pilot, lambda: not app.findings.current_row.labels)


async def test_a_contradictory_label_keeps_the_dialog_open(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LabelDialog))
        await type_in(pilot, "+a -a")
        await pilot.press("enter")
        assert isinstance(app.screen, LabelDialog)
        await pilot.press("escape")
        assert not isinstance(app.screen, LabelDialog)
        assert read(db, lambda s: s.finding(40).labels) == ()


async def test_state_with_a_reason(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, StateDialog))
        states = app.screen.query_one(OptionList)
        states.highlighted = list(State).index(State.NOISE)
        await pilot.press("enter")
        await type_in(pilot, "ties")
        await pilot.press("enter")
        await until(pilot, lambda: app.findings.current_row.state is State.NOISE)
        assert read(db, lambda s: s.events(40)[0].why) == "ties"


async def test_duplicate_asks_for_the_finding_that_it_repeats(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, StateDialog))
        app.screen.query_one(OptionList).highlighted = list(State).index(State.DUPLICATE)
        await pilot.press("enter")
        await pilot.press("enter")
        assert isinstance(app.screen, StateDialog)  # no number, no change
        await type_in(pilot, "37 same pass")
        await pilot.press("enter")
        await until(pilot, lambda: app.findings.current_row.state is State.DUPLICATE)
        assert read(db, lambda s: s.finding(40).duplicate_of) == 37


async def test_a_move_that_is_not_allowed_is_refused_in_words(db: Path, until: Until) -> None:
    with open_store(db) as store:
        store.set_state([40], State.FIXED, actor="me")
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, StateDialog))
        app.screen.query_one(OptionList).highlighted = list(State).index(State.NOISE)
        await pilot.press("enter")
        await pilot.press("enter")
        await until(pilot, lambda: "✗" in said(app))
        assert read(db, lambda s: s.finding(40).state) is State.FIXED


async def test_a_bulk_action_touches_marked_and_shown_only_and_says_so(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("space", "space", "space")  # 40 39 38
        await pilot.press("slash")
        await type_in(pilot, "bucket:13")  # 37 38 39
        await pilot.press("enter")
        await until(pilot, lambda: app.findings.ids == [39, 38, 37])
        assert "2 marked (+1 hidden)" in said(app)
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, LabelDialog))
        question = str(app.screen.query_one(".dialog-title").content)  # type: ignore[attr-defined]
        assert question == "Label 2 marked findings (1 more marked, hidden by the filter: not touched)"
        await type_in(pilot, "bulk")
        await pilot.press("enter")
        await until(pilot, lambda: "2 findings changed" in said(app))
        assert read(db, lambda s: s.ids("label:bulk")) == [39, 38]


async def test_nothing_is_done_when_every_mark_is_hidden(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("space")
        await pilot.press("slash")
        await type_in(pilot, "bucket:1")
        await pilot.press("enter")
        await until(pilot, lambda: app.findings.ids == [3, 2, 1])
        await pilot.press("l")
        await pilot.pause()
        assert not isinstance(app.screen, LabelDialog)
        assert "nothing was done" in said(app)


async def test_range_all_and_clear(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("v", "j", "j")
        assert app.findings.targets() == ([40, 39, 38], 0)
        await pilot.press("v", "j", "j")
        assert app.findings.targets() == ([40, 39, 38], 0)
        await pilot.press("asterisk")
        assert len(app.findings.targets()[0]) == 40
        await pilot.press("asterisk")
        assert app.findings.targets() == ([app.findings.current], 0)
        await pilot.press("space", "escape")
        assert app.findings.targets() == ([app.findings.current], 0)


async def test_r_queues_a_reduction_and_starts_a_worker_only_when_none_lives(db: Path, until: Until, no_worker: list[Path]) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("r")
        await until(pilot, lambda: "worker started" in said(app))
        assert no_worker == [db]
        assert read(db, lambda s: [(j.kind, j.finding_id) for j in s.jobs()]) == [(JobKind.REDUCE, 40)]
        with open_store(db) as store:
            store.claim([JobKind.REDUCE], "somebody")
        await pilot.press("j", "r")
        await until(pilot, lambda: "reduce queued for finding 39" in said(app))
        assert no_worker == [db]


async def test_c_queues_a_recheck(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("c")
        await until(pilot, lambda: "recheck queued" in said(app))
        assert read(db, lambda s: s.jobs()[0].kind) is JobKind.RECHECK


async def test_y_copies_the_program_that_is_shown(db: Path, until: Until) -> None:
    app = TriageApp(db, query="bucket:1")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("y")
        assert app.clipboard == app.pane.detail.reduced.source


async def test_y_and_e_never_take_the_program_of_the_finding_before(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail and app.pane.detail.row.id == 40)
        app.findings.action_move(1)  # the pane follows a moment later
        app.action_copy()
        assert app.clipboard == ""
        assert "not here yet" in said(app)
        app.action_edit()
        await pilot.pause()
        assert not list(tmp_path.glob("*edited*"))
        await until(pilot, lambda: app.pane.detail.row.id == 39)
        await pilot.press("y")
        assert app.clipboard == read(db, lambda s: s.program(39).source)


async def test_delete_asks_and_undo_brings_back(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("n")
        assert len(app.findings.ids) == 40
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: len(app.findings.ids) == 39)
        await pilot.press("u")
        await until(pilot, lambda: len(app.findings.ids) == 40)


async def test_x_previews_the_draft_and_refuses_to_write_it_before_the_gates_are_met(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, query="bucket:1", folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, DraftScreen) and app.screen.view)
        gates = str(app.screen.query_one("#draft-gates").content)  # type: ignore[attr-defined]
        assert "… a fresh process exits non-zero with the mismatch, 3 of 3" in gates
        assert "✓ not a duplicate of a reported bucket" in gates
        assert "### Minimal repro" in str(app.screen.query_one("#draft-text").content)  # type: ignore[attr-defined]
        await pilot.press("w")
        await pilot.pause()
        assert not list(tmp_path.glob("finding-3.*"))
        await pilot.press("g")
        await until(pilot, lambda: app.screen.view.running)
        assert read(db, lambda s: s.jobs()[0].kind) is JobKind.GATES
        await pilot.press("escape")
        assert not isinstance(app.screen, DraftScreen)


async def test_question_mark_shows_and_hides_the_help(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("question_mark")
        await until(pilot, lambda: app.screen.query(HelpPanel))
        await pilot.press("question_mark")
        await until(pilot, lambda: not app.screen.query(HelpPanel))


async def test_the_palette_knows_the_actions_and_the_states(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert {"Label", "Export", "Reduce", "Undo", "Show confirmed"} <= set(titles)


async def test_mouse_chooses_marks_and_sorts(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.click("#findings", offset=(20, 3))
        assert app.findings.current == 38
        await pilot.click("#findings", offset=(20, 5), control=True)
        assert app.findings.targets() == ([36], 0)
        await pilot.click("#findings", offset=(6, 0))
        await until(pilot, lambda: app.findings.ids[0] == 1)


async def test_S_sorts_by_the_next_column(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        before = app.findings.order
        await pilot.press("S")
        await until(pilot, lambda: app.findings.order != before)
        assert "sorted by seen" in said(app)


async def test_findings_that_others_add_appear_and_the_cursor_stays(
    db: Path, until: Until, filled: Callable[[Store, int, int], None]
) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("j", "j")
        with open_store(db) as store:
            filled(store, 5, 40)
        await until(pilot, lambda: len(app.findings.ids) == 45)
        assert app.findings.current == 38
        assert "45 findings" in said(app)


async def test_an_empty_store_tells_the_next_command(tmp_path: Path, until: Until) -> None:
    open_store(tmp_path / "empty.db").close()
    app = TriageApp(tmp_path / "empty.db")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "No findings yet" in app.findings.empty[0])
        assert "workbench fuzz" in app.findings.empty[1]
        await pilot.press("l", "s", "x", "r", "y", "e", "o", "space", "v", "asterisk", "delete")
        assert app.screen is app.screen_stack[0]


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (40, 10)])
async def test_it_works_at_any_size(db: Path, until: Until, size: tuple[int, int]) -> None:
    app = TriageApp(db)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("G")
        height = app.findings.size.height
        lines = [app.findings.render_line(y).text for y in range(height)]
        assert any(line.startswith("▶") for line in lines)
        assert all(len(line) == app.findings.size.width for line in lines)


async def test_a_store_that_is_deleted_keeps_the_screen_and_comes_back(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        hidden = tmp_path / "elsewhere"
        hidden.mkdir()
        for file in tmp_path.glob("findings.db*"):
            os.rename(file, hidden / file.name)
        await until(pilot, lambda: "not there" in said(app))
        assert len(app.findings.ids) == 40
        await pilot.press("u")
        await asyncio.sleep(0.2)
        assert not db.exists()
        for file in hidden.glob("findings.db*"):
            os.rename(file, tmp_path / file.name)
        await until(pilot, lambda: "can be read again" in said(app))


async def test_a_write_lock_of_another_process_is_said_and_nothing_is_lost(db: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr("workbench.triage.writer.PATIENCE", 0.2)
    other = sqlite3.connect(db, isolation_level=None)
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        other.execute("BEGIN IMMEDIATE")
        await pilot.press("r")
        await until(pilot, lambda: "✗" in said(app))
        assert len(app.findings.ids) == 40
        other.execute("ROLLBACK")
        await pilot.press("r")
        await until(pilot, lambda: "reduce queued" in said(app))
    other.close()


async def test_answers_that_come_after_quitting_are_dropped(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        detail = app.pane.detail
    app.on_detail_loaded(messages.DetailLoaded(40, detail))
    app.on_listed(messages.Listed("", "-id", [1, 2], 2))
    app.on_rows_loaded(messages.RowsLoaded([40], [detail.row], 1))
    app.on_query_failed(messages.QueryFailed("", "x", "y"))
    app.on_store_changed()
    app.on_store_trouble(messages.StoreTrouble("gone"))
    app.on_written(messages.Written("done"))
    app.on_write_failed(messages.WriteFailed("x", "y"))
