"""The catalogue of bug characteristics: TOML data files, one each, read by mutators, prompts, labels and statistics."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from store.records import JSON, Stage, Symptom
from workbench.errors import NotFoundError, WorkbenchError

__all__ = ["CODES", "Characteristic", "bundled", "catalogue", "codes", "learned_folder", "named"]

CODES = {
    "NT": "non-tensor construct",
    "PO": "operator with unusual parameters",
    "AM": "mutation of aliased tensors",
    "BV": "boundary values",
    "OS": "op sequence that triggers an optimisation",
    "SR": "stateful re-execution",
    "MD": "mixed dtypes",
    "LC": "layout chain",
    "EN": "environment",
}
_REQUIRED = ("code", "title", "do", "why", "stages", "symptoms", "before", "after")
_OPTIONAL = ("issues", "hints")


@dataclass(frozen=True, slots=True)
class Characteristic:
    """One way in which programs break compilers.

    do:            what to do to a program
    why:           why that breaks compilers
    stages:        where such bugs sit, most frequent first
    issues:        pytorch/pytorch numbers of examples
    before, after: programs in harness form that run in eager; ``after`` has the characteristic
    """

    id: str
    code: str
    title: str
    do: str
    why: str
    stages: tuple[Stage, ...]
    symptoms: tuple[Symptom, ...]
    before: str
    after: str
    issues: tuple[int, ...] = ()
    hints: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return {name: list(v) if isinstance(v := getattr(self, name), tuple) else v for name in self.__slots__}


@cache
def bundled() -> dict[str, Characteristic]:
    """Those that come with the workbench, by id, sorted."""
    folder = resources.files("workbench.characteristics")
    entries = sorted((e for e in folder.iterdir() if e.name.endswith(".toml")), key=lambda e: e.name)
    return {c.id: c for e in entries for c in [parse(e.name.removesuffix(".toml"), e.read_text(encoding="utf-8"))]}


def learned_folder() -> Path:
    """Where accepted drafts of `workbench characteristics learn` are kept: ``ID.toml``, and ``ID.rule.toml`` for a rule mutator."""
    import platformdirs

    return Path(platformdirs.user_data_path("torch-compile-workbench")) / "characteristics"


def catalogue() -> dict[str, Characteristic]:
    """All characteristics by id, sorted: the bundled ones and those a person accepted. WorkbenchError for an accepted file that is none."""
    found = dict(bundled())
    folder = learned_folder()
    for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
        name = path.name.removesuffix(".toml")
        if not name.endswith(".rule"):
            found.setdefault(name, _learned(path, path.stat().st_mtime_ns))
    return dict(sorted(found.items()))


@cache
def _learned(path: Path, changed: int) -> Characteristic:
    return parse(path.name.removesuffix(".toml"), path.read_text(encoding="utf-8"))


def codes() -> dict[str, str]:
    """Trigger code by characteristic id."""
    return {c.id: c.code for c in catalogue().values()}


def named(name: str) -> Characteristic:
    """One characteristic; NotFoundError says what is close."""
    import difflib

    found = catalogue().get(name)
    if found is None:
        close = difflib.get_close_matches(name, catalogue(), 1)
        raise NotFoundError(f"no characteristic {name!r}", f"did you mean {close[0]}?" if close else "workbench characteristics list")
    return found


def parse(name: str, text: str) -> Characteristic:
    """A characteristic from TOML text; WorkbenchError names what is missing or wrong."""
    where = f"characteristic {name}"
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WorkbenchError(f"{where}: {error}", "it is a TOML file") from error
    missing = [k for k in _REQUIRED if k not in data]
    unknown = [k for k in data if k not in (*_REQUIRED, *_OPTIONAL)]
    if missing or unknown:
        told = [f"missing {', '.join(missing)}"] * bool(missing) + [f"unknown {', '.join(unknown)}"] * bool(unknown)
        raise WorkbenchError(f"{where}: {'; '.join(told)}", f"keys: {', '.join((*_REQUIRED, *_OPTIONAL))}")
    if data["code"] not in CODES:
        raise WorkbenchError(f"{where}: unknown code {data['code']!r}", f"codes: {', '.join(CODES)}")
    try:
        stages, symptoms = tuple(map(Stage, data["stages"])), tuple(map(Symptom, data["symptoms"]))
    except ValueError as error:
        raise WorkbenchError(f"{where}: {error}", f"stages: {', '.join(Stage)}; symptoms: {', '.join(Symptom)}") from error
    return Characteristic(
        id=name,
        code=data["code"],
        title=data["title"],
        do=data["do"].strip(),
        why=data["why"].strip(),
        stages=stages,
        symptoms=symptoms,
        before=data["before"],
        after=data["after"],
        issues=tuple(data.get("issues", ())),
        hints=tuple(data.get("hints", ())),
    )
