"""The program tab: the reduced program, the original, or both side by side, coloured."""

from __future__ import annotations

import difflib
from functools import lru_cache

from rich.cells import set_cell_size
from textual.content import Content
from textual.highlight import highlight

from store.plain import bounded
from store.records import Program
from workbench.errors import ProgramError
from workbench.programs import parse_block, write_block
from workbench.triage.messages import Detail

VIEWS = ("reduced", "original", "side by side")
LONGEST = 2000
"""Lines shown; a longer program is opened with ``e``."""


def program_content(detail: Detail, view: str, width: int) -> Content:
    """The program as ``view`` says; without a reduced one always the original."""
    row = detail.row
    if detail.reduced is None:
        waiting = {"none": "not reduced yet: r queues it", "failed": "the reduction failed; see the history"}
        head = f"original, {row.statements} statements, {waiting.get(row.reduction, f'reduction {row.reduction}')}"
        return _titled(head, _coloured(detail.program.source))
    if view == "original":
        return _titled("original (o: side by side)", _coloured(detail.program.source))
    if view == "side by side":
        return _titled("original │ reduced (o: reduced)", _beside(detail.program.source, detail.reduced.source, width))
    return _titled(f"reduced, {row.statements} statements (o: original)", _coloured(detail.reduced.source))


def shown_source(detail: Detail, view: str) -> str:
    """The text that copying copies."""
    return _shown(detail, view).source


def editable_source(detail: Detail, view: str) -> str:
    """The text that editing edits: its block says the configuration under which the finding was judged, so that the edit is judged under it too."""
    program = _shown(detail, view)
    try:
        said = parse_block(program.source)
    except ProgramError:
        return program.source  # a block that a newer workbench wrote: the person sees it as it is
    return program.source if said == program.configuration else write_block(program.source, program.configuration)


def _shown(detail: Detail, view: str) -> Program:
    return detail.reduced if detail.reduced is not None and view != "original" else detail.program


def _titled(title: str, body: Content) -> Content:
    return Content("\n").join([Content.styled(title, "dim"), Content(""), body])


@lru_cache(maxsize=64)
def _coloured(source: str) -> Content:
    """Highlighted once a text: it takes 40 ms for 200 lines."""
    return highlight(bounded(source.rstrip(), lines=LONGEST), language="python")


def _beside(original: str, reduced: str, width: int) -> Content:
    half = max(20, (width - 3) // 2)
    left, right = (bounded(text.rstrip(), lines=LONGEST).split("\n") for text in (original, reduced))
    lines: list[Content] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        count = max(i2 - i1, j2 - j1)
        for k in range(count):
            old = left[i1 + k] if i1 + k < i2 else None
            new = right[j1 + k] if j1 + k < j2 else None
            lines.append(_pair(old, new, half, same=tag == "equal"))
    return Content("\n").join(lines)


def _pair(old: str | None, new: str | None, half: int, *, same: bool) -> Content:
    """One line of both sides; ``-`` and ``+`` say what the colours say."""
    left = set_cell_size(("  " if same else "- ") + old if old is not None else "", half)
    right = set_cell_size(("  " if same else "+ ") + new if new is not None else "", half)
    if same:
        return Content(f"{left} │ {right}")
    return Content.assemble((left, "$text-error"), " │ ", (right, "$text-success"))
