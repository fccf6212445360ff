"""README cannot drift: every command and every key of ``check --json`` is in it, and it names no command that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from store.records import Outcome, Verdict
from workbench.cli import COMMANDS

README = (Path(__file__).parent.parent.parent / "README.md").read_text()


def test_every_command_is_told_of():
    assert set(re.findall(r"\| `workbench (\w+)", README)) == set(COMMANDS)


def test_every_command_line_in_it_names_a_command():
    assert set(re.findall(r"(?:^|`|\$ )workbench (?:--db \S+ )?([a-z]+)\b", README, re.MULTILINE)) <= set(COMMANDS)


def test_every_key_of_check_json_is_told_of():
    (told,) = re.findall(r"with the keys `([^`]+)`", README)
    assert set(told.split()) == set(Verdict(Outcome.AGREE).to_json())


def test_it_has_no_placeholder():
    assert "@@" not in README
