"""Writing drafts as files: ``finding-12.md`` and ``finding-12.py`` in a folder; what a person has changed is not overwritten."""

from __future__ import annotations

from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.export.draft import Draft


def write_draft(draft: Draft, folder: Path) -> list[Path]:
    """Write the draft and its repro; returns the paths. An existing file with other content gets a numbered neighbour."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkbenchError(f"{folder}: cannot be made ({error.strerror})", "name another folder with -o") from error
    written = [write_new(folder / f"finding-{draft.finding}.md", draft.text)]
    if draft.repro:
        written.append(write_new(folder / f"finding-{draft.finding}.py", draft.repro))
    return written


def write_new(path: Path, text: str) -> Path:
    """Write a text; where another text stands under that name, under the next free numbered one. Returns the path."""
    number = 2
    chosen = path
    try:
        while chosen.exists() and chosen.read_text(encoding="utf-8", errors="replace") != text:
            chosen = path.with_stem(f"{path.stem}-{number}")
            number += 1
        chosen.write_text(text, encoding="utf-8")
    except OSError as error:
        raise WorkbenchError(f"{chosen}: cannot be written ({error.strerror})", "choose another folder") from error
    return chosen
