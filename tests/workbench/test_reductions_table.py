"""The table at the end of a batch."""

from __future__ import annotations

from workbench.commands.reductions import summary_table


def entry(finding, **changes):
    made = {
        "finding": finding, "statements_before": 40, "statements_after": 2, "oracle_calls": 18, "compiles": 9, "seconds": 31.4,
        "certified": [3, 3], "ended": "complete",
    }  # fmt: skip
    return {**made, **changes}


def test_every_reduction_has_a_line_and_the_last_one_adds_up():
    lines = summary_table([entry(1), entry(12, statements_after=3, certified=[0, 0], ended="budget")]).splitlines()
    assert lines[0].split() == ["finding", "statements", "calls", "compiles", "seconds", "cold", "ended"]
    assert lines[1].split() == ["#1", "40", "->", "2", "18", "9", "31", "3/3", "complete"]
    assert lines[2].split() == ["#12", "40", "->", "3", "18", "9", "31", "budget"]
    assert lines[3].split() == ["2", "reduced", "80", "->", "5", "36", "18", "63"]


def test_what_failed_says_why_and_is_not_added():
    lines = summary_table([entry(1), {"finding": "a.py", "error": "nothing to reduce"}]).splitlines()
    assert lines[2] == "a.py" + lines[2][4:]
    assert lines[2].endswith("failed: nothing to reduce")
    assert len(lines) == 3
