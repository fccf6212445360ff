"""Nothing in a text of a program or of somebody else's store acts on a terminal, and nothing is hidden from who reads it."""

from __future__ import annotations

import pytest

from store.plain import bounded, one_line, visible
from store.records import Stage, Symptom
from store.titles import LONGEST, title_of


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("def fn(x):\n\treturn x", "def fn(x):\n\treturn x"),
        ("a\x1b[31mred\x07", "a␛[31mred␇"),
        ("nul\x00 del\x7f", "nul␀ del␡"),
        ("c1 \x9b31m", "c1 �31m"),
        ("\u202egnp.exe", "�gnp.exe"),
        ("no\u00a0break zero\u200bwidth", "no�break zero�width"),
        ("dos\r\nline, lone\r", "dos\nline, lone␍"),
        ("👩\u200d👧 日本", "👩\u200d👧 日本"),
    ],
)
def test_what_acts_or_hides_has_a_sign(text: str, seen: str):
    assert visible(text) == seen


def test_one_line_is_one_line_of_bounded_length():
    assert one_line("a\nb\tc") == "a␊b␉c"
    assert one_line("x" * 10**6) == "x" * 299 + "…"


def test_a_new_title_is_printable_and_short_whatever_the_program_calls():
    title = title_of((Symptom.VALUE,), ("\x1b]0;owned\x07", "add"), Stage.INDUCTOR, "pass\n" * 100)
    assert title.isprintable()
    assert len(title) <= LONGEST
    assert title.startswith("wrong value: ␛]0;owned␇, add (inductor, pass␊")


def test_a_text_for_a_screen_is_bounded_both_ways_and_says_how_much_is_left_out():
    text = bounded("x" * 10**6 + "\n" + "y\n" * 5000, lines=10, width=20)
    assert text.split("\n") == ["x" * 19 + "…", *["y"] * 9, "… 4992 more lines"]
