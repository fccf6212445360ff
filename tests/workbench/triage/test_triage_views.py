"""Tabs, buckets, work view and grid: every key does what its help says, and nothing is done before it was shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from store import Store, open_store
from store.records import Configuration, State
from store.rows import JobKind
from workbench.errors import WorkbenchError
from workbench.triage import tabs
from workbench.triage.app import TriageApp
from workbench.triage.ask_dialog import AskDialog
from workbench.triage.bucket_screen import BucketScreen
from workbench.triage.detached import fuzz_words, last_lines
from workbench.triage.dialogs import ConfirmDialog, StateDialog
from workbench.triage.work_screen import WorkScreen
from workbench.triage.work_text import spark

Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]
SIZE = (140, 40)


def read(db: Path, question: Callable[[Store], object]) -> object:
    with open_store(db, readonly=True) as store:
        return question(store)


def text(app: TriageApp, where: str) -> str:
    return str(app.screen.query_one(where).content)  # type: ignore[attr-defined]


def screen_text(app: TriageApp) -> list[str]:
    """What stands on the screen, line by line."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


async def type_in(pilot: Pilot[None], typed: str) -> None:
    line = pilot.app.focused
    assert isinstance(line, Input)
    line.value = typed
    line.cursor_position = len(typed)
    await pilot.pause()


# tabs


async def test_numbers_choose_tabs_and_the_bar_counts(db: Path, until: Until) -> None:
    with open_store(db) as store:
        store.set_state([1, 2], State.CONFIRMED, actor="me")
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.tab_bar.counts.get("all") == 40)
        assert (app.tab_bar.counts["new"], app.tab_bar.counts["confirmed"], app.tab_bar.active) == (38, 2, "all")
        await pilot.press("3")
        await until(pilot, lambda: app.findings.ids == [2, 1])
        assert app.tab_bar.active == "confirmed"
        await pilot.press("9")
        assert app.findings.ids == [2, 1]
        await pilot.click("#tab-bar", offset=(3, 0))
        await until(pilot, lambda: len(app.findings.ids) == 40)


async def test_t_keeps_the_filter_as_a_tab_over_restarts_and_D_takes_it_away(db: Path, until: Until, tmp_path: Path) -> None:
    app = TriageApp(db, query="bucket:1")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids == [3, 2, 1])
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, AskDialog))
        await type_in(pilot, "a name that is much too long for a tab")
        await pilot.press("enter")
        assert isinstance(app.screen, AskDialog)
        await type_in(pilot, 'first "one" ü')
        await pilot.press("enter")
        await until(pilot, lambda: app.tab_bar.active == 'first "one" ü')
        await until(pilot, lambda: app.tab_bar.counts.get('first "one" ü') == 3)
    again = TriageApp(db, query="bucket:1")
    assert again.tab_bar.tabs['first "one" ü'] == "bucket:1"
    async with again.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: again.findings.ids == [3, 2, 1])
        await pilot.press("D")
        await until(pilot, lambda: isinstance(again.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: again.tab_bar.active is None)
    assert 'first "one" ü' not in TriageApp(db).tab_bar.tabs


def test_a_broken_tabs_file_is_said_and_the_usual_tabs_are_there(tmp_path: Path) -> None:
    file = tmp_path / "triage.toml"
    for content in ("[tabs", "[other]\nx = 1\n", "[tabs]\nx = 1\n"):
        file.write_text(content)
        assert tabs.load(file)[0] == tabs.usual()
        assert "usual tabs" in tabs.load(file)[1]
    file.write_text('[tabs]\n"b" = "state:new"\n"a" = ""\n')
    assert tabs.load(file) == ({"b": "state:new", "a": ""}, "")


def test_a_tab_needs_a_name_and_a_filter_that_can_be_read() -> None:
    for name, query in (("", "x"), ("n\x00", "x"), ("n", "stat:new"), ("n" * 17, "")):
        with pytest.raises(WorkbenchError):
            tabs.added({}, name, query)
    with pytest.raises(WorkbenchError, match="9 tabs already"):
        tabs.added({str(i): "" for i in range(9)}, "ten", "")
    assert tabs.added({"a": "x"}, "a", "y") == {"a": "y"}


# buckets


async def opened(app: TriageApp, pilot: Pilot[None], until: Until) -> BucketScreen:
    await until(pilot, lambda: app.findings.current_row)
    await pilot.press("b")
    await until(pilot, lambda: isinstance(app.screen, BucketScreen) and app.screen.detail)
    screen = app.screen
    assert isinstance(screen, BucketScreen)
    return screen


async def test_buckets_show_signature_with_reasons_leader_and_members(db: Path, until: Until) -> None:
    app = TriageApp(db, query="bucket:1")
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, until)
        assert [line.key for line in screen.list.lines] == [1]
        told = text(app, "#bucket-text")
        assert "any shape0   (of the unreduced program, provisional)" in told
        assert "✓ aot_eager" in told
        assert "finding 3: the smallest reliable repro, 1 statements" in told
        assert [line.cells[3] for line in screen.members.lines] == ["leader", "same", "same"]
        await pilot.press("escape")
        assert app.screen is app.screen_stack[0]


async def test_merge_is_shown_first_then_done_then_undone(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, until)
        await pilot.press("m")
        assert "mark the buckets" in text(app, "#bucket-title")
        await pilot.press("space", "space", "m")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "Merge 2 buckets into bucket 12?" in text(app, ".dialog-title")
        assert "4 findings move" in text(app, ".dialog-last")
        await pilot.press("n")
        assert read(db, lambda s: s.bucket(12).members) == 3
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: [line.key for line in screen.list.lines][:1] == [12])
        assert read(db, lambda s: s.bucket(12).members) == 7
        await pilot.press("u")
        await until(pilot, lambda: len(screen.list.lines) == 14)
        assert read(db, lambda s: (s.bucket(12).members, s.bucket(14).members)) == (3, 1)


async def test_split_takes_the_marked_members_and_says_who_is_there_by_hand(db: Path, until: Until) -> None:
    app = TriageApp(db, query="bucket:2")
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(app, pilot, until)
        await pilot.press("tab", "space", "p")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "A new leader is chosen" in text(app, ".dialog-last")
        await pilot.press("y")
        await until(pilot, lambda: len(screen.members.lines) == 2)
        new = read(db, lambda s: s.finding(4).bucket)
        assert new == 15
        await pilot.press("escape")
        app.bar.set_text("bucket:15")
        await until(pilot, lambda: app.findings.ids == [4])
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BucketScreen) and app.screen.detail)
        assert "finding 4: signature leads elsewhere" in text(app, "#bucket-text")
        await pilot.press("u")
        await until(pilot, lambda: read(db, lambda s: s.finding(4).bucket) == 2)


async def test_a_bucket_is_not_split_whole(db: Path, until: Until) -> None:
    app = TriageApp(db, query="bucket:2")
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, until)
        await pilot.press("p")
        assert "go to the members" in text(app, "#bucket-title")
        await pilot.press("tab", "space", "space", "space", "p")
        assert "nothing would be left" in text(app, "#bucket-title")


async def test_duplicates_of_the_leader_leave_what_is_put_aside(db: Path, until: Until) -> None:
    with open_store(db) as store:
        store.set_state([2], State.NOISE, actor="other")
    app = TriageApp(db, query="bucket:1")
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, until)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "Set 1 finding to duplicate of 3?" in text(app, ".dialog-title")
        assert "1 is put aside" in text(app, ".dialog-last")
        await pilot.press("y")
        await until(pilot, lambda: read(db, lambda s: s.finding(1).state) is State.DUPLICATE)
        assert read(db, lambda s: (s.finding(1).duplicate_of, s.finding(2).state)) == (3, State.NOISE)
        await pilot.press("u")
        await until(pilot, lambda: read(db, lambda s: s.finding(1).state) is State.NEW)


async def test_d_folds_every_marked_bucket_in_one_undo_step(db: Path, until: Until) -> None:
    with open_store(db) as store:
        store.set_state([1], State.REPORTED, actor="other")
        store.set_state([4, 5, 6], State.NOISE, actor="other")
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, until)
        await pilot.press("asterisk", "d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert "In 14 buckets" in text(app, ".dialog-title")
        await pilot.press("y")
        await until(pilot, lambda: read(db, lambda s: s.count("state:duplicate")) == 23)
        assert read(db, lambda s: (s.finding(2).duplicate_of, s.finding(1).state, s.finding(4).state)) == (3, State.REPORTED, State.NOISE)
        await pilot.press("u")
        await until(pilot, lambda: read(db, lambda s: s.count("state:duplicate")) == 0)


@pytest.mark.parametrize("size", [(80, 24), (120, 30), (60, 16)])
async def test_a_preview_of_many_hides_neither_its_question_nor_its_last_sentence(db: Path, until: Until, size: tuple[int, int]) -> None:
    app = TriageApp(db)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BucketScreen) and app.screen.detail)
        await pilot.press("asterisk", "d")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        lines = screen_text(app)
        assert any("In 14 buckets, set all but the leader to duplicate?" in line for line in lines)
        assert any("At most 26 findings" in line for line in lines)
        assert any("y yes" in line for line in lines)
        await pilot.press(*"jjjjjjjjjjjj")
        await until(pilot, lambda: any("more buckets" in line for line in screen_text(app)))


async def test_enter_shows_the_findings_of_a_bucket(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, until)
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.findings.ids == [39, 38, 37])


async def test_keys_of_the_list_do_nothing_to_findings_behind_a_view(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await opened(app, pilot, until)
        await pilot.press("l", "r", "c", "x", "delete")
        await pilot.pause()
        assert isinstance(app.screen, BucketScreen)
        assert read(db, lambda s: s.jobs()) == []


# work


async def test_the_work_view_shows_workers_jobs_campaigns_and_errors(db: Path, until: Until) -> None:
    with open_store(db) as store:
        number = store.start_campaign({"seed": 3, "seconds": 600.0, "jobs": 2})
        store.update_campaign(number, {"tests": 100, "valid": 90, "mismatches": 4, "seconds": 50.0, "tests_per_second": 2.0})
        store.enqueue("recheck", 6, actor="me")
        store.fail(store.claim(["recheck"], "w0"), "out of memory")
        store.enqueue("reduce", 5, actor="me")
        store.claim(["reduce"], "host:1:0", 600)
        store.save_progress(5, {"progress": {"statements": 14, "calls": 33}})
        store.enqueue("gates", 7, actor="me")
    (db.parent / "findings.db.fuzz.log").write_text("one\nlast line of the campaign\n")
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, WorkScreen) and app.screen.detail)
        told = text(app, "#work-text")
        for words in (
            "worker host:1:0",
            "queued: 1 gates",
            "reduce of finding 5",
            "14 statements, 33 oracle calls",
            "90 % valid",
            "out of memory",
        ):
            assert words in told
        assert "last line of the campaign" in told
        with open_store(db) as store:
            store.update_campaign(number, {"tests": 130, "valid": 90, "seconds": 60.0})
        await until(pilot, lambda: "3.00 tests a second now" in text(app, "#work-text"))


async def test_s_asks_a_campaign_to_stop(db: Path, until: Until) -> None:
    with open_store(db) as store:
        number = store.start_campaign({})
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, WorkScreen) and app.screen.detail)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(pilot, lambda: read(db, lambda s: s.campaign(number).state) == "stopping")
        with open_store(db) as store:
            store.finish_campaign(number)
        await until(pilot, lambda: app.screen.detail.campaigns[0].state == "finished")  # type: ignore[attr-defined]
        await pilot.press("s")
        assert "ended already" in text(app, "#work-title")


async def test_n_starts_a_campaign_after_its_options_were_checked(db: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(
        "workbench.triage.writer.start_campaign", lambda path, words: started.append(words) or "campaign started (process 1)"
    )
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("w")
        await until(pilot, lambda: isinstance(app.screen, WorkScreen) and app.screen.detail)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, AskDialog))
        await type_in(pilot, "--minutes soon")
        await pilot.press("enter")
        assert "soon" in text(app, ".dialog-hint")
        await type_in(pilot, "--minutes 2 --focus AM")
        await pilot.press("enter")
        await until(pilot, lambda: started)
        assert started == [["--minutes", "2", "--focus", "AM"]]
        await until(pilot, lambda: "campaign started" in text(app, "#work-title"))


def test_options_of_a_campaign_are_checked_as_the_command_checks_them() -> None:
    assert fuzz_words("--tests 5 --seed 1") == ["--tests", "5", "--seed", "1"]
    for wrong in ("--tests 0", "--nonsense", "--focus XX", "'", "--help", "--tests 1 --minutes 1", "extra"):
        with pytest.raises(WorkbenchError):
            fuzz_words(wrong)


def test_last_lines_of_logs_that_are_there(tmp_path: Path) -> None:
    assert last_lines(tmp_path / "x.db") == {}
    (tmp_path / "x.db.work.log").write_bytes(b"a\nb\nc\nd\xff\n")
    assert last_lines(tmp_path / "x.db") == {"x.db.work.log": ("b", "c", "d\ufffd")}


def test_a_sparkline_is_as_high_as_its_share_of_the_largest() -> None:
    assert spark([]) == ""
    assert spark([0, 0]) == "▁▁"
    assert spark([0, 1, 2]) == "▁▅█"


# grid, states, completion


async def test_f_queues_the_grid_and_the_configuration_tab_fills_by_itself(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.pane.detail)
        await pilot.press("right_square_bracket", "right_square_bracket")
        await until(pilot, lambda: "0 of 21, f fills it" in text(app, "#detail-text"))
        await pilot.press("f")
        await until(pilot, lambda: "0 of 21, queued" in text(app, "#detail-text"))
        assert read(db, lambda s: [(j.kind, j.finding_id) for j in s.jobs()]) == [(JobKind.GRID, 40)]
        with open_store(db) as store:
            verdict = store.verdict(40)
            from dataclasses import replace

            store.add_run(40, replace(verdict, configuration=Configuration(backend="aot_eager", dynamic=True)), purpose="grid")
        await until(pilot, lambda: "1 of 21" in text(app, "#detail-text"))
        (line,) = [line for line in text(app, "#detail-text").split("\n") if line.startswith("  aot_eager ") and "·" in line]
        assert line.split() == ["aot_eager", "·", "✗", "mismatch", "·"]


async def test_X_queues_the_gates_of_all_that_is_marked_and_shown(db: Path, until: Until) -> None:
    app = TriageApp(db, query="bucket:1")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("asterisk", "X")
        await until(pilot, lambda: read(db, lambda s: sorted(j.finding_id for j in s.jobs() if j.kind is JobKind.GATES)) == [1, 2, 3])


async def test_a_letter_goes_to_a_state(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.current_row)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, StateDialog))
        await pilot.press("t", "enter", "enter")
        await until(pilot, lambda: app.findings.current_row.state is State.TRIAGED)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, StateDialog))
        await pilot.press("f", "f", "enter", "enter")  # fixed, then flaky
        await until(pilot, lambda: app.findings.current_row.state is State.FLAKY)


async def test_the_filter_completes_keys_values_and_words_in_use(db: Path, until: Until) -> None:
    with open_store(db) as store:
        store.label([1], add=["silent"], actor="me")
        store.label([2], add=["two words"], actor="me")
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("slash")
        await until(pilot, lambda: "silent" in app.bar.completion.words.get("label", ()))
        ask = app.bar.completion.get_suggestion
        assert await ask("la") == "label:"
        assert await ask("state:new -la") == "state:new -label:"
        assert await ask("label:si") == "label:silent"
        assert await ask('label:"tw') == 'label:"two words"'
        assert await ask("op:softmax,fl") == "op:softmax,flip"
        assert await ask("state:new,conf") == "state:new,confirmed"
        assert await ask("nothing:x") is None
        assert "in use: silent" in app.bar.completion.hint("label:s")
        await pilot.press("l", "a")
        await pilot.pause(0.2)
        await pilot.press("tab")
        await until(pilot, lambda: app.bar.text == "label:")
        assert app.focused is app.bar.query_one(Input)


async def test_an_error_in_the_filter_stands_under_the_wrong_words(db: Path, until: Until) -> None:
    app = TriageApp(db)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.findings.ids)
        await pilot.press("slash")
        await type_in(pilot, "op:flip lable:x")
        await until(pilot, lambda: app.bar.has_class("-wrong"))
        assert text(app, "#query-hint").split("\n")[0] == " " * 8 + "‾" * 7
