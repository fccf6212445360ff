"""The differences tab: what disagrees, by how much, the worst elements, and a picture of where."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from store.plain import one_line
from store.records import Difference
from workbench.export.sentences import NOISE, SYMPTOMS, number
from workbench.triage.columns import fit
from workbench.triage.grid import LEGEND, picture
from workbench.triage.messages import Detail

SHOWN = 200
"""Differences drawn; all are in ``workbench show --json``."""


def differences_content(detail: Detail) -> Content:
    """Every difference of the verdict on the smallest program, those that noise excuses last."""
    verdict = detail.shown
    parts = [Content.styled(one_line(verdict.reason) or f"verdict: {verdict.outcome}", "bold")]
    if not verdict.differences:
        parts.append(Content.styled("The verdict holds no difference records.", "dim"))
    ordered = sorted(verdict.differences, key=lambda d: d.excused is not None)
    for difference in ordered[:SHOWN]:
        parts += [Content(""), *_difference(difference)]
    if len(ordered) > SHOWN:
        parts += [Content(""), Content.styled(f"… {len(ordered) - SHOWN} more differences", "dim")]
    if any(d.grid for d in ordered):
        parts += [Content(""), Content.styled(LEGEND, "dim")]
    return Content("\n").join(parts)


def _difference(d: Difference) -> list[Content]:
    where = f"{one_line(d.path)}  {one_line(d.dtype)}{list(d.shape) if d.dtype else ''}".rstrip()
    if d.excused is not None:
        head = Content.styled(f"≈ {d.symptom}  {where}  excused: {NOISE[d.excused]}", "dim")
    else:
        head = Content.assemble(
            ("✗ ", "$text-error"), (str(d.symptom), "bold $text-error"), f"  {where}", (f"  {SYMPTOMS[d.symptom]}", "dim")
        )
    lines = [head]
    if d.detail or d.change:
        lines.append(Content("  " + "  ".join(one_line(t) for t in (d.detail, f"({d.change})" if d.change else "") if t)))
    if d.max_abs is not None or d.max_rel is not None or d.mismatched:
        numbers = f"  {d.mismatched} elements   max abs {number(d.max_abs)}   rel {number(d.max_rel)}   ulp {number(d.max_ulp)}"
        lines.append(Content(numbers))
    if d.elements:
        rows = [["index", "eager", "compiled", "float64"]]
        rows += [[_index(e.index), *(one_line(text) for text in (e.eager, e.compiled, e.float64 or "–"))] for e in d.elements]
        lines += _table(rows)
    return lines + [Content("    " + line) for line in picture(d.grid)]


def _index(index: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, index)) + "]"


def _table(rows: Sequence[Sequence[str]]) -> list[Content]:
    """Right-aligned cells under a dim header."""
    widths = [min(28, max(cell_len(row[i]) for row in rows)) for i in range(len(rows[0]))]
    lines = ["  " + "  ".join(fit(cell, w, right=True) for cell, w in zip(row, widths, strict=True)) for row in rows]
    return [Content.styled("  " + lines[0], "dim"), *(Content("  " + line) for line in lines[1:])]
