"""Program files: reading one, its workbench block, and writing the block back (DESIGN §2). Never executes anything."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from store.records import JSON, MODES, Configuration, Program
from store.syntax import parse
from workbench.errors import ProgramError

MAX_BYTES = 4 * 1024 * 1024
"""A program is something a person can read; a larger file is a mistake (a checkpoint, a dump)."""

_BLOCK = re.compile(r"^# /// workbench[ \t]*\n(?P<body>(?:^#(?:| [^\n]*)\n)*?)^# ///[ \t]*$\n?", re.MULTILINE)
_OPEN = re.compile(r"^# /// workbench[ \t]*$", re.MULTILINE)
_KEYS = tuple(f.name for f in fields(Configuration))
_TABLES = ("inductor", "dynamo")
_SUBMODULES = frozenset({"cpp", "triton", "cuda", "rocm", "trace", "aot_inductor", "test_configs", "autotune_cache", "halide", "xpu"})
"""Classes inside ``torch._inductor.config``: an unquoted ``cpp.simdlen = 0`` is TOML for a table ``cpp``, meant as one dotted key."""
_KNOWN = ", ".join([k for k in _KEYS if k not in _TABLES] + [f"[{t}]" for t in _TABLES])


def read_program(path: Path, overrides: Mapping[str, JSON] | None = None) -> Program:
    """The program in a file, its block parsed and ``overrides`` applied; ProgramError when it is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ProgramError(
                f"{path}: {path.stat().st_size // 2**20} MB is too large for a program", "name a Python file of at most 4 MB"
            )
        raw = path.read_bytes()
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}", "name a Python file or a folder of them") from error
    try:
        source = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProgramError(f"{path}: not UTF-8 text (byte {error.start})", "a program is one plain Python file") from error
    return parse_program(source.replace("\r\n", "\n"), str(path), overrides)


def parse_program(source: str, name: str, overrides: Mapping[str, JSON] | None = None) -> Program:
    """The program in a text; ProgramError with file and line for a syntax error or a wrong block."""
    configuration = parse_block(source, name)
    try:
        parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise ProgramError(
            f"{name}{where}: syntax error: {what}", "a program is a Python file that defines fn or Model, and get_inputs"
        ) from error
    return Program(source, override(configuration, overrides or {}), name)


def parse_block(source: str, name: str = "program.py") -> Configuration:
    """The configuration in a source's workbench block (defaults where it has none); ProgramError names line and key."""
    opened = [source.count("\n", 0, m.start()) + 1 for m in _OPEN.finditer(source)]
    matches = list(_BLOCK.finditer(source))
    if len(opened) > 1:
        raise ProgramError(f"{name}, line {opened[1]}: a second workbench block", "a program has one block; merge them")
    if opened and not matches:
        raise ProgramError(
            f"{name}, line {opened[0]}: the workbench block is not closed",
            "end it with a line `# ///`, every line before it starting with `# `",
        )
    if not matches:
        return Configuration()
    body = matches[0]["body"]
    lines = [line[2:] if line.startswith("# ") else line[1:] for line in body.split("\n")]
    try:
        data = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = f", line {found[1]} of its workbench block" if found else " (end of its workbench block)"
        raise ProgramError(f"{name}{line}: {str(error).split(' (at')[0]}", "the block is TOML: key = value, text in quotes") from error
    return _configuration({k: _dotted(v) if k in _TABLES else v for k, v in data.items()}, name, lines)


def said_keys(source: str) -> frozenset[str]:
    """The keys that a source's workbench block says, also those it says at their default; none when there is no readable block."""
    found = _BLOCK.search(source)
    if found is None:
        return frozenset()
    try:
        return frozenset(tomllib.loads("\n".join(line.removeprefix("#").removeprefix(" ") for line in found["body"].split("\n"))))
    except tomllib.TOMLDecodeError:
        return frozenset()


def write_block(source: str, configuration: Configuration) -> str:
    """The source with its block replaced by one that says only what differs from the defaults (none when nothing does)."""
    bare = _BLOCK.sub("", source, count=1)
    said = configuration.non_default()
    if not said:
        return bare
    lines = [f"{key} = {_toml(value)}" for key, value in said.items() if key not in _TABLES]
    for table in _TABLES:
        if said.get(table):
            lines.append(f"[{table}]")
            lines += [f'"{key}" = {_toml(value)}' for key, value in sorted(said[table].items())]
    block = "\n".join(["# /// workbench", *(f"# {line}" for line in lines), "# ///"])
    head, rest = _after_shebang(bare)
    return f"{head}{block}\n{rest}"


def override(configuration: Configuration, overrides: Mapping[str, JSON]) -> Configuration:
    """The configuration with some keys replaced; the tables ``inductor`` and ``dynamo`` are merged key by key."""
    if not overrides:
        return configuration
    merged = configuration.to_json()
    for key, value in overrides.items():
        merged[key] = {**merged[key], **value} if key in _TABLES else value
    return _configuration(merged, "command line", [])


def parse_setting(text: str) -> tuple[str, str, JSON]:
    """``inductor.cpp.simdlen=0`` as (table, key, value); the value is read as TOML, else taken as text."""
    name, equals, value = text.partition("=")
    table, dot, key = name.strip().partition(".")
    if not (equals and dot and key) or table not in _TABLES:
        raise ProgramError(
            f"--set {text}: not of the form inductor.NAME=VALUE or dynamo.NAME=VALUE", "for example --set inductor.cpp.simdlen=0"
        )
    try:
        return table, key, tomllib.loads(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        named = {"True": True, "False": False, "None": None}
        return table, key, named.get(value.strip(), value.strip())


def program_files(paths: Iterable[Path]) -> list[Path]:
    """The files that paths name: themselves, or the ``*.py`` below a folder, sorted; hidden and ``__pycache__`` folders left out."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(
                p for p in path.rglob("*.py") if not any(part.startswith((".", "__pycache__")) for part in p.relative_to(path).parts)
            )
            if not inside:
                raise ProgramError(f"{path}: no Python file in this folder", "name a folder that holds program files")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise ProgramError(f"{path}: no such file or folder", "name a Python file or a folder of them")
    return list(dict.fromkeys(found))


def _configuration(data: Mapping[str, JSON], name: str, lines: list[str]) -> Configuration:
    for key, value in data.items():
        where = name + _line_of(key, lines)
        if key not in _KEYS:
            close = difflib.get_close_matches(key, _KEYS, 1)
            meant = f'. Did you mean "{close[0]}"?' if close else ""
            raise ProgramError(f'{where}: unknown key "{key}"', f"known keys: {_KNOWN}{meant}")
        problem = _problem(key, value)
        if problem:
            raise ProgramError(f"{where}: {key} = {_toml(value)}: {problem}", f"known keys: {_KNOWN}")
    return Configuration(**data)


def _dotted(table: JSON) -> JSON:
    if not isinstance(table, dict):
        return table
    flat: dict[str, JSON] = {}
    for key, value in table.items():
        if key in _SUBMODULES and isinstance(value, dict):
            flat.update({f"{key}.{name}": inner for name, inner in value.items()})
        else:
            flat[key] = value
    return flat


def _problem(key: str, value: JSON) -> str:
    """What is wrong with a value; empty when nothing is."""
    if key in ("fullgraph", "grad") and not isinstance(value, bool):
        return "must be true or false"
    if key == "dynamic" and not (value is None or isinstance(value, bool)):
        return "must be true or false (absent = torch's default)"
    if key in ("seed", "threads") and (not isinstance(value, int) or isinstance(value, bool) or value < (key == "threads")):
        return "must be a whole number" + (" of at least 1" if key == "threads" else " of at least 0")
    if key in ("backend", "device") and not (isinstance(value, str) and value.strip()):
        return "must be a name in quotes"
    if key == "mode" and value not in MODES:
        return f"must be one of {', '.join(MODES)}"
    if key in _TABLES and not isinstance(value, dict):
        return "must be a table of configuration patches"
    return ""


def _line_of(key: str, lines: list[str]) -> str:
    pattern = re.compile(rf'^\s*(\[\s*)?["\']?{re.escape(key)}["\']?\s*(=|\.|\])')
    for number, line in enumerate(lines, 1):
        if pattern.match(line):
            return f", line {number} of its workbench block"
    return ""


def _toml(value: JSON) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {_toml(v)}' for k, v in value.items()) + "}"
    if value is None:
        return '"None"'
    return repr(value)


def _after_shebang(source: str) -> tuple[str, str]:
    """A leading ``#!`` or coding line stays first."""
    head, rest = "", source
    while rest.startswith("#!") or re.match(r"#.*coding[:=]", rest):
        line, _, rest = rest.partition("\n")
        head += line + "\n"
    return head, rest
