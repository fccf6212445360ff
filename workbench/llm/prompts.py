"""Prompts as text files: fixed contract first, then one characteristic with its example, then what varies, so that prefix caches work.

A file's first line is its version; whoever changes the text raises it. Placeholders are ``{{name}}``; what is put in is never read again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from store.records import JSON, canonical
from workbench.characteristics import CODES, Characteristic

MOST_TRIED = 8
"""Earlier attempts that a prompt tells of."""
LONGEST_ISSUE = 12_000
"""Characters of an issue that are shown; the rest is seldom about the bug."""
_SYMPTOMS = "value, nan, dtype, shape, stride, alias, mutation, gradient, structure, pyvalue, missing_error, exception"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent. ``version``: names and versions of its texts, ``contract/1 characteristic/1 ...``."""

    version: str
    messages: tuple[Mapping[str, str], ...]

    @property
    def text(self) -> str:
        """All messages as JSON."""
        return canonical([dict(m) for m in self.messages])

    def then(self, answer: str, name: str, **values: str) -> Prompt:
        """The conversation continued: the answer, and another text of ours."""
        more = ({"role": "assistant", "content": answer}, _message("user", name, values))
        return Prompt(f"{self.version} {_versioned(name)}", (*self.messages, *more))


def mutation(c: Characteristic, source: str, tried: Sequence[str] = ()) -> Prompt:
    """Give ``source`` the characteristic. ``tried``: what earlier answers did to it, one phrase each."""
    hints = "".join(f"Hint: {hint}\n" for hint in c.hints)
    told = f"Already tried here, do something else: {'; '.join(tried[-MOST_TRIED:])}\n" if tried else ""
    names = ("contract", "characteristic", "example", "seed")
    messages = (
        _message("system", "contract", {}),
        _message("user", "characteristic", {"title": c.title, "do": c.do, "why": c.why, "hints": hints, "before": c.before.strip()}),
        _message("assistant", "example", {"after": c.after.strip()}),
        _message("user", "seed", {"source": source.strip(), "tried": told}),
    )
    return Prompt(" ".join(map(_versioned, names)), messages)


def learning(issue: str) -> Prompt:
    """Draft a characteristic from the text of an issue or a commit."""
    values = {"issue": issue[:LONGEST_ISSUE].strip(), "codes": ", ".join(f"{k} ({v})" for k, v in CODES.items()), "symptoms": _SYMPTOMS}
    return Prompt(_versioned("learn"), (_message("user", "learn", values),))


def title(source: str, stage: str, symptoms: str) -> Prompt:
    """Propose a title for a finding."""
    return Prompt(_versioned("title"), (_message("user", "title", {"source": source.strip(), "stage": stage, "symptoms": symptoms}),))


def _message(role: str, name: str, values: Mapping[str, str]) -> dict[str, str]:
    _, text = template(name)
    return {"role": role, "content": re.sub(r"\{\{(\w+)\}\}", lambda m: values[m[1]], text)}


def _versioned(name: str) -> str:
    return f"{name}/{template(name)[0]}"


@cache
def template(name: str) -> tuple[int, str]:
    """(version, text) of a prompt's file."""
    raw = (resources.files("workbench.llm") / "prompts" / f"{name}.txt").read_text(encoding="utf-8")
    head, _, text = raw.partition("\n\n")
    return int(head.removeprefix("version:")), text.strip("\n")


def names() -> list[str]:
    """All prompt files."""
    folder = resources.files("workbench.llm") / "prompts"
    return sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir() if entry.name.endswith(".txt"))


def digest_of(prompt: Prompt, model: str, parameters: Mapping[str, JSON]) -> str:
    """What decides an answer: equal digests may be answered from what is kept."""
    import hashlib

    return hashlib.sha256(canonical([prompt.text, model, dict(parameters)]).encode()).hexdigest()
