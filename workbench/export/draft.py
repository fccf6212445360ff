"""The issue draft: markdown in the shape that pytorch/pytorch asks for (DESIGN §10). Text only; it is never sent anywhere.

The part that a machine wrote says so, in a fence; a person adds why it matters, and owns it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from store.records import JSON, LADDER, Configuration, Difference, Outcome, Stage, Symptom
from store.rows import Run
from workbench import __version__
from workbench.export.environment import Environment
from workbench.export.gates import Gate, Report, Subject
from workbench.export.harness import BACKEND_VARIABLE
from workbench.export.sentences import STAGES, WARNINGS, number, symptoms_text

HEADINGS = ("### 🐛 Describe the bug", "### Minimal repro", "### Ablation", "### Error logs", "### Versions")

_STAGE_LABELS: Mapping[Stage, str] = {
    Stage.DYNAMO: "module: dynamo",
    Stage.AOT: "module: pt2-dispatcher",
    Stage.DECOMPOSITION: "module: pt2-dispatcher",
    Stage.INDUCTOR: "module: inductor",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """What is shown, printed or written. ``text`` is the markdown, ``repro`` the script by itself."""

    finding: int
    title: str
    labels: tuple[str, ...]
    text: str
    repro: str
    unmet: tuple[Gate, ...]


def draft(subject: Subject, report: Report, environment: Environment | None, *, runs: Sequence[Run] = (), forced: bool = False) -> Draft:
    """The draft of a finding. With ``forced`` and gates unmet, its first line says so."""
    title, labels = proposed_title(subject), proposed_labels(subject)
    unmet = report.unmet
    bodies = (_description(subject), _repro(report), _ablation(subject, report, runs), _log(report), _versions(subject, environment))
    parts = [f"{heading}\n\n{body}" for heading, body in zip(HEADINGS, bodies, strict=True)]
    first = [_forced(unmet)] if forced and unmet else []
    head = f"<!-- Proposed title: {title} -->\n<!-- Proposed labels: {', '.join(labels)} -->"
    text = "\n\n".join([*first, head, *parts, _generated(subject, report), _HUMAN]) + "\n"
    return Draft(subject.row.id, title, labels, text, report.repro, unmet)


def proposed_title(subject: Subject) -> str:
    """``[inductor] torch.compile: wrong values (any, sum)``; a title that a person gave is kept."""
    verdict, row = subject.verdict, subject.row
    stage = f"[{verdict.stage}] " if verdict.stage else ""
    ops = f" ({', '.join(row.ops[:4])})" if row.ops else ""
    return f"{stage}torch.compile: {symptoms_text(verdict.symptoms)}{ops}"


def proposed_labels(subject: Subject) -> tuple[str, ...]:
    """Labels of pytorch/pytorch that the verdict speaks for (BUGS.md §5 has the rules)."""
    verdict, row = subject.verdict, subject.row
    labels = ["oncall: pt2"]
    if verdict.stage:
        labels.append(_STAGE_LABELS[verdict.stage])
    if subject.program.configuration.dynamic:
        labels.append("module: dynamic shapes")
    if verdict.stage is Stage.INDUCTOR and subject.program.configuration.device == "cpu":
        labels.append("oncall: cpu inductor")
    if verdict.outcome is Outcome.MISMATCH:
        missing = Symptom.MISSING_ERROR in verdict.symptoms
        labels.append("module: error checking" if missing else "module: correctness (silent)")
    if row.origin == "fuzz":
        labels.append("topic: fuzzer")
    if row.code == "BV":
        labels.append("module: edge cases")
    if Symptom.ALIAS in verdict.symptoms or row.code == "AM":
        labels.append("module: partial aliasing")
    return tuple(labels)


def _description(subject: Subject) -> str:
    verdict = subject.verdict
    stage = f" It goes wrong in {STAGES[verdict.stage]}." if verdict.stage else ""
    lines = [f"The program below gives {symptoms_text(verdict.symptoms)} under `torch.compile`, without an error or a warning.{stage}"]
    if Symptom.MISSING_ERROR in verdict.symptoms:
        lines = [f"Eager raises, and the same program runs under `torch.compile` without an error.{stage}"]
    elif verdict.outcome is Outcome.ERROR:
        lines = [f"Eager runs, and the same program raises under `torch.compile`.{stage}"]
    real = [d for d in verdict.differences if d.excused is None]
    if real:
        lines += ["", *_table(real)]
    if verdict.warnings:
        lines += ["To know before judging:", *(f"- {WARNINGS[w]}" for w in verdict.warnings)]
    return "\n".join(lines)


def _table(differences: Sequence[Difference]) -> list[str]:
    lines = ["| where | symptom | eager | compiled | float64 | max abs | max rel | max ulp |", "|---|---|---|---|---|---|---|---|"]
    for d in differences[:8]:
        where = f"`{d.path}`" + (f" {d.dtype}{list(d.shape)}" if d.dtype else "")
        numbers = [number(d.max_abs), number(d.max_rel), number(d.max_ulp)]
        shown = d.elements[:3]
        if not shown:
            lines.append(_row([where, d.symptom, d.detail or d.change or "–", "", "", *numbers]))
        for e in shown:
            at = f"{where} at {list(e.index)}" if e.index else where
            lines.append(_row([at, d.symptom, e.eager, e.compiled, e.float64 or "–", *numbers]))
    return [*lines, ""]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in cells) + " |"


def _repro(report: Report) -> str:
    if not report.repro:
        return "No repro: the program is a script that calls `torch.compile` itself; it has to be reduced first."
    return f"Exits 1 with the mismatch, 0 without; `{BACKEND_VARIABLE}` chooses the backend.\n\n{_fence(report.repro.rstrip(), 'python')}"


def _ablation(subject: Subject, report: Report, runs: Sequence[Run]) -> str:
    verdict = subject.verdict
    lines = ["| setting | result |", "|---|---|"]
    seen = dict(verdict.ladder)
    for backend in LADDER.values():
        gate = next((g for g in report.gates if g.name.endswith(f"with backend {backend}")), None)
        if gate is not None and gate.met is not None:
            seen[backend] = "agree" if gate.met else gate.detail
    lines += [_row([f"backend `{b}`", seen[b]]) for b in LADDER.values() if b in seen]
    lines += [_row([f"backend `{b}`", outcome]) for b, outcome in seen.items() if b not in LADDER.values()]
    control = next((g for g in report.gates if "TORCHDYNAMO_DISABLE" in g.name and g.met is not None), None)
    if control:
        lines.append(_row(["`TORCHDYNAMO_DISABLE=1`", "agree" if control.met else control.detail]))
    if report.emulated is not None:
        lines.append(_row(["`emulate_precision_casts`", "mitigated by flag: agrees" if report.emulated else "no change"]))
    lines += [_row([_setting(r.configuration), f"{r.outcome} (torch {r.torch})"]) for r in runs[:12]]
    changed = subject.program.configuration.non_default()
    lines += ["", f"Configuration: {_setting(changed)}."]
    if verdict.guilty or verdict.guilty_asked:
        lines.append(f"Compiler bisector: {f'`{verdict.guilty}`' if verdict.guilty else 'no single pass is to blame'}.")
    if verdict.replay:
        command = verdict.replay if "python" in verdict.replay else f"{verdict.replay} python repro.py"
        lines += ["Replay line of the bisector (the guilty application is the last that it lets through):", "", _fence(command, "sh")]
    return "\n".join(lines)


def _setting(changed: Mapping[str, JSON]) -> str:
    plain = Configuration().to_json()
    said = [f"`{key} = {value}`" for key, value in changed.items() if plain.get(key) != value]
    return ", ".join(said) or "defaults"


def _log(report: Report) -> str:
    return _fence(report.output.strip()) if report.output.strip() else "None: the compiler says nothing. The repro has not been run."


def _versions(subject: Subject, environment: Environment | None) -> str:
    if environment is None:
        machine = ", ".join(f"{k} {v}" for k, v in subject.verdict.machine.items())
        return f"torch {subject.row.torch or 'unknown'}{f'; {machine}' if machine else ''}. (`collect_env` is added by the export.)"
    return f"{environment.summary()}\n\n<details><summary>collect_env</summary>\n\n{_fence(environment.collected)}\n\n</details>"


def _generated(subject: Subject, report: Report) -> str:
    row = subject.row
    lines = [
        f"GENERATED: everything above was written by torch-compile-workbench {__version__} from a recorded verdict, not by a person.",
        f"finding {row.uid[:12]}, found {row.count} times, origin {row.origin or 'unknown'}, first seen {row.created}",
        f"signature: {row.signature}",
        "gates:",
        *(f"  {g.sign} {g.name}: {g.detail}" for g in report.gates),
    ]
    return _fence("\n".join(lines), "text")


def _fence(text: str, language: str = "") -> str:
    """The text in a fence that is longer than any inside it."""
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}"


def _forced(unmet: Sequence[Gate]) -> str:
    named = "; ".join(f"{g.name} ({g.detail})" for g in unmet)
    return f"**FORCED DRAFT, {len(unmet)} of its gates unmet: {named}.** Do not file it as it is."


_HUMAN = """<!-- Comment of the person who files this (required): why it matters, who hits it, what you checked yourself. Write below. -->

"""
