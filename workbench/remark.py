"""The one comment line of a repro: what differs, as a person would say it."""

from __future__ import annotations

import re

from store.records import Difference, Symptom, Verdict
from workbench.sameness import Bug, changes_of

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
AFTER = " after the call"
THINGS = {"return": "result", "inputs": "input", "parameters": "parameter", "buffers": "buffer", "globals": "global"}


def remark(verdict: Verdict, bug: Bug) -> str:
    """One line, a sentence in plain English behind ``# ``."""
    places = {path for change, path in changes_of(verdict) if bug.shown_by(change)}
    shown = next((d for d in verdict.differences if d.path in places and d.excused is None), None)
    told = sentence(shown, compiled_with(verdict.configuration.backend)) if shown is not None else verdict.reason.splitlines()[0]
    told = " ".join(told.split())
    return f"# {told[:1].upper()}{told[1:].rstrip('.')}."


def compiled_with(backend: str) -> str:
    """``when compiled``, with the backend where it is not the usual one."""
    return "when compiled" if backend == "inductor" else f'when compiled with backend="{backend}"'


def sentence(difference: Difference, compiled: str) -> str:
    """What a difference says, without its full stop."""
    where = place(difference.path)
    if difference.elements:
        worst = difference.elements[0]
        index = f"element [{', '.join(map(str, worst.index))}] of " if worst.index else ""
        return f"{index}{where} is {worst.eager} in eager and {worst.compiled} {compiled}"
    if difference.symptom in (Symptom.EXCEPTION, Symptom.MISSING_ERROR):
        return difference.detail.splitlines()[0] if difference.detail else "eager raises, compiled runs"
    detail = re.sub(r"(\[[^\]]*\])+: ", "", difference.detail)
    if match := re.fullmatch(r"(dtype|shape|device|requires_grad) (.+), compiled (.+)", detail):
        return f"{where} has {match[1]} {match[2]} in eager and {match[3]} {compiled}"
    if match := re.fullmatch(r"(\S+) and (\S+) share memory in (eager|compiled), not in (?:eager|compiled)", detail):
        one, other = ("in eager", f"not {compiled}") if match[3] == "eager" else (compiled, "not in eager")
        both = f"{place(match[1])} and {place(match[2])}".replace(AFTER, "")
        return f"{both} share memory {one} and {other}"
    if match := re.fullmatch(r"(?:value: )?eager (.+), compiled (.+)", detail):
        return f"{where} is {match[1]} in eager and {match[2]} {compiled}"
    if match := re.fullmatch(r"(?:(.+) |)only in (eager|compiled)(;.*| and \d+ more|)", detail):
        return f"{where} has {match[1] or 'something'} only {'in eager' if match[2] == 'eager' else compiled}"
    return f"{where} differs: {detail}" if detail else f"{where} differs"


def place(path: str) -> str:
    """``return[1]`` as ``the second result``, ``gradients.inputs[0]`` as ``the gradient of the first input``."""
    if path.startswith("gradients."):
        return f"the gradient of {place(path.removeprefix('gradients.'))}".removesuffix(AFTER)
    section, rest = re.match(r"(\w*)(.*)", path).groups()  # type: ignore[union-attr]
    thing = THINGS.get(section)
    if thing is None:
        return path
    written = AFTER if section != "return" else ""
    match = re.fullmatch(r"\[(\d+)\](.*)", rest)
    if match is None:
        return f"the {thing}{written}" if not rest else f"{thing} {rest.lstrip('.')}{written}"
    number = int(match[1])
    named = f"the {ORDINALS[number]} {thing}" if number < len(ORDINALS) else f"{thing} {number}"
    return f"{match[2]} of {named}{written}" if match[2] else f"{named}{written}"
