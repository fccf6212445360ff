"""Where programs to mutate come from: the bundled ones, folders of program files, torch's operator samples. Reads text; runs no program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from store.records import Configuration, Program
from store.syntax import parse
from workbench.errors import NotFoundError, ProgramError, WorkbenchError
from workbench.programs import parse_program, program_files
from workbench.seeds import opinfo

__all__ = ["Seed", "bundled", "folder", "imported_folder", "named", "seeds_of"]


@dataclass(frozen=True, slots=True)
class Seed:
    """An ordinary program to start from.

    origin: ``bundled``, ``opinfo``, or the path it was read from
    about:  its first docstring line
    """

    name: str
    program: Program
    origin: str
    about: str = ""

    @property
    def configuration(self) -> Configuration:
        return self.program.configuration


def bundled() -> list[Seed]:
    """The programs that come with the workbench, by name."""
    folder = resources.files("workbench.seeds") / "bundled"
    found = []
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".py"):
            found.append(_seed(entry.name.removesuffix(".py"), entry.read_text(encoding="utf-8"), "bundled"))
    return found


def folder(paths: Iterable[Path]) -> list[Seed]:
    """Programs of files and folders, in their order; files that are no harness-form program are left out. NotFoundError when none is left."""
    named_paths = list(paths)
    found = []
    for path in program_files(named_paths):
        try:
            seed = _seed(path.stem, path.read_text(encoding="utf-8"), str(path))
        except (ProgramError, UnicodeDecodeError):
            continue
        if "get_inputs" in seed.program.source:
            found.append(seed)
    if not found:
        raise NotFoundError(
            f"{', '.join(map(str, named_paths))}: no program in harness form", "a seed defines fn or Model, and get_inputs()"
        )
    return found


def seeds_of(paths: Iterable[Path], *, seed: int = 0, python: str | None = None) -> list[Seed]:
    """The seeds a campaign starts from: those of the paths, or the bundled ones when there is none.

    A path ``bundled`` stands for the bundled ones, ``opinfo`` or ``opinfo:COUNT`` for torch's operator samples, drawn from ``seed`` under
    ``python`` (default: this interpreter), unless a file or folder has that name.
    """
    files: list[Path] = []
    found: list[Seed] = []
    for path in paths:
        count = opinfo.wanted(path)
        if count is not None:
            found += [_seed(name, source, "opinfo") for name, source in opinfo.sources(count, seed=seed, python=python)]
        elif str(path) == "bundled" and not path.exists():
            found += bundled()
        else:
            files.append(path)
    if files:
        found += folder(files)
    return found or bundled()


def imported_folder(data: Path) -> Path:
    """Where `workbench seeds import` keeps programs, below the data folder."""
    return data / "seeds"


def named(name: str) -> Seed:
    """A bundled seed; NotFoundError says which exist."""
    for seed in bundled():
        if seed.name == name:
            return seed
    raise NotFoundError(f"no bundled seed {name!r}", "workbench seeds list")


def _seed(name: str, source: str, origin: str) -> Seed:
    program = parse_program(source, f"seed:{name}")
    return Seed(name, Program(program.source, program.configuration, f"seed:{name}"), origin, _about(source))


def _about(source: str) -> str:
    import ast

    try:
        return (ast.get_docstring(parse(source)) or "").split("\n")[0]
    except SyntaxError as error:  # parse_program has said so already
        raise WorkbenchError(f"seed does not parse: {error}") from error
