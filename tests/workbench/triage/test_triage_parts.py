"""The parts of the screen that need no screen: marks, pictures, columns, completion, texts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from rich.cells import cell_len

from store import open_store
from store.records import State
from workbench.triage.columns import FRONT, fit, layout
from workbench.triage.configuration_text import configuration_content
from workbench.triage.differences_text import differences_content
from workbench.triage.grid import picture
from workbench.triage.marks import Marks
from workbench.triage.notes_text import history_content, warnings_content
from workbench.triage.query_bar import Completion
from workbench.triage.source import Source


def test_marks_outlive_a_filter_and_a_range_does_not():
    marks = Marks()
    marks.toggle(5)
    marks.range([9, 8, 7], 0)
    assert marks.all([9, 8, 7], 2) == {5, 9, 8, 7}
    marks.end_range()
    assert marks.all([1, 2], 0) == {5}


def test_a_range_counts_as_marked_while_it_is_drawn_in_either_direction():
    marks = Marks()
    marks.range([9, 8, 7, 6], 2)
    assert [marks.has(i, place, 0) for place, i in enumerate([9, 8, 7, 6])] == [True, True, True, False]
    marks.range([9, 8, 7, 6], 0)
    assert marks.all([], 0) == {9, 8, 7}


def test_marking_all_twice_unmarks_what_is_shown_and_keeps_what_is_hidden():
    marks = Marks()
    marks.toggle(99)
    marks.toggle_all([1, 2])
    assert marks.all([], 0) == {99, 1, 2}
    marks.toggle_all([1, 2])
    assert marks.all([], 0) == {99}


def test_the_picture_darkens_with_the_error_and_shows_nan_apart():
    body = picture([[0.0, 1e-7, 1e-5, 1e-3, 0.5, 2.0, math.nan, math.inf]])[1]
    assert body == "│ ·░▒▓█××│"
    assert picture([]) == []


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 300])
def test_columns_never_overlap_and_fill_the_line(width: int):
    placed = layout(width)
    end = FRONT
    for column, start, wide in placed:
        assert start >= end
        assert wide >= 3
        end = start + wide
        assert column.title != "title" or wide >= 8
    assert width < 40 or end <= width


@pytest.mark.parametrize("text", ["short", "a long title that does not fit", "漢字漢字漢字漢字", "tab\there\nand line", ""])
def test_cells_have_exactly_their_width(text: str):
    assert cell_len(fit(text, 12)) == 12
    assert cell_len(fit(text, 12, right=True)) == 12


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("sta", "state:"),
        ("state:ne", "state:new"),
        ("op:x -sym", "op:x -symptom:"),
        ("state:new,tri", "state:new,triaged"),
        ("stage:new", None),
        ("", None),
        ("state:new ", None),
    ],
)
async def test_the_query_is_completed_word_by_word(typed: str, completed: str | None):
    assert await Completion().get_suggestion(typed) == completed


def test_the_detail_of_a_finding_says_what_an_engineer_asks(db: Path):
    with open_store(db) as store:
        store.set_state([3], State.TRIAGED, actor="me", why="seen before")
        store.save_verified(3, 3, 3)
    source = Source(db)
    detail = source.detail(3)
    source.close()
    assert detail is not None
    differences = str(differences_content(detail))
    assert "✗ gradient  return[0]  float32[8, 32]" in differences
    assert "dtype int64, compiled uint8" in differences
    configuration = str(configuration_content(detail))
    assert "✗ mismatch" in configuration
    assert "✓ agree" in configuration
    assert "seed2 → view → finding 3" in configuration
    assert "same bug" in configuration
    assert "3 of 3 cold runs" in configuration
    assert "Wrapping is what eager does" in str(warnings_content(detail))
    history = str(history_content(detail))
    assert "new → triaged" in history
    assert "seen before" in history


def test_a_finding_that_is_gone_has_no_detail(db: Path):
    source = Source(db)
    assert source.detail(999) is None
    source.close()


def test_reading_creates_no_store(tmp_path: Path):
    source = Source(tmp_path / "none.db")
    with pytest.raises(Exception, match="not there"):
        source.changed()
    assert not list(tmp_path.iterdir())


def test_gates_that_wait_behind_hundreds_of_jobs_are_still_known_to_wait(db: Path):
    with open_store(db) as store, store.together():
        store.enqueue("gates", 1, actor="me")
        for number in range(250):
            store.enqueue("recheck", 2, {"number": number}, actor="me")
    source = Source(db)
    assert source.draft(1).running
    assert [job.kind for job in source.detail(1).jobs] == ["gates"]
    source.close()
