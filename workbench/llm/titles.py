"""A title for a draft, proposed by an LLM: an ordinary change of the finding, whose reason says so, so that it can be marked and undone."""

from __future__ import annotations

import re

from store.store import Store
from store.titles import GENERATED, LONGEST
from workbench.export.gates import subject_of
from workbench.export.sentences import STAGES, symptoms_text
from workbench.llm import answers, gates, prompts
from workbench.llm.caller import Caller
from workbench.llm.errors import LLMError


def propose(caller: Caller, store: Store, finding: int, *, actor: str) -> str:
    """Ask for a title and give it to the finding; returns it, empty when the answer holds none. LLMError when there is no answer."""
    subject = subject_of(store, finding)
    stage = STAGES[subject.verdict.stage] if subject.verdict.stage else "unknown"
    prompt = prompts.title(subject.program.source, stage, symptoms_text(subject.verdict.symptoms))
    try:
        reply = caller.ask(prompt, "title", sample=finding, temperature=0.2)
    except LLMError as error:
        caller.failed(prompt, "title", error)
        raise
    title = title_in(reply.answer.text) if reply.answer.finish == "stop" else ""
    caller.keep(reply, gates.VALID if title else "contract", title or "no line that can be a title")
    if title:
        store.rename(finding, title, actor=actor, why=f"{GENERATED}{caller.model}")
    return title


def title_in(answer: str) -> str:
    """The title in an answer: its first line of prose, without decoration; empty when that cannot be a title."""
    if any(not ch.isprintable() and ch not in "\r\n\t" for ch in answer):
        return ""
    for line in answers.prose_in(answer).splitlines():
        text = re.sub(r"^(?:title|bug title)\s*:\s*", "", line.strip().strip("#*_`\"'> ").strip(), flags=re.IGNORECASE)
        text = re.sub(r"\s+", " ", text).strip("*_`\"' ").rstrip(".")
        if text:
            return text if 8 <= len(text) <= LONGEST and text.isprintable() else ""
    return ""
