"""Verdicts remembered by everything that decides them, so that judging the same program again costs nothing (DESIGN §4 Reuse).

Only for programs whose text is all there is to them: they import torch and pure standard modules, and read no file, clock or environment.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from typing import Protocol

from store.records import JSON, Outcome, Program, Verdict, canonical
from store.syntax import parse

PURE = frozenset(
    ["__future__", "abc", "bisect", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "random", "re", "string", "textwrap", "torch", "types", "typing", "warnings", "weakref"]
)
"""Modules that bring nothing of this machine into a program."""
REACHING = frozenset(["open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "globals", "__file__"])
LOADING = frozenset(["load", "load_state_dict_from_url", "from_file", "fromfile", "hub", "jit", "memmap", "load_library", "cpp_extension"])
KEPT = frozenset({Outcome.AGREE, Outcome.NOISE, Outcome.MISMATCH, Outcome.ERROR, Outcome.INVALID})
ENVIRONMENT = ("torch", "torch_git", "torch_folder", "cuda", "capability", "compiler", "compiler_version", "libc", "python", "machine")


class Memory(Protocol):
    """Where verdicts are remembered: the store."""

    def memo_get(self, key: str) -> dict[str, JSON] | None:
        """What was put under the key, or None."""
        ...

    def memo_put(self, key: str, verdict: Mapping[str, JSON]) -> None:
        """Remember a verdict's JSON."""
        ...


class Memo:
    """The memo of one machine: keys hold the torch build, CPU capability and compiler besides source, configuration and oracle version.

    fresh: remember, but never answer
    """

    def __init__(self, memory: Memory, environment: Mapping[str, JSON], version: int, *, fresh: bool = False) -> None:
        self._fresh = fresh
        self._memory = memory
        self._machine = [environment.get(name) for name in ENVIRONMENT]
        self._version = version

    def get(self, program: Program, demand: str) -> Verdict | None:
        """The remembered verdict, or None; ``demand`` says how much was asked for."""
        key = self._key(program, demand)
        found = self._memory.memo_get(key) if key and not self._fresh else None
        return Verdict.from_json(found) if found else None

    def put(self, program: Program, demand: str, verdict: Verdict) -> None:
        """Remember a verdict that another run would give again; undecided ones never."""
        key = self._key(program, demand)
        if key and verdict.outcome in KEPT:
            self._memory.memo_put(key, verdict.to_json())

    def _key(self, program: Program, demand: str) -> str:
        if not self_contained(program.source):
            return ""
        parts = [program.sha, program.configuration.to_json(), self._machine, self._version, demand]
        return hashlib.sha256(canonical(parts).encode()).hexdigest()


def self_contained(source: str) -> bool:
    """Whether a program's text decides what it does: no import beyond torch and ``PURE``, nothing that reaches outside."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] not in PURE for alias in node.names):
            return False
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").partition(".")[0] not in PURE):
            return False
        if isinstance(node, ast.Name) and node.id in REACHING:
            return False
        if isinstance(node, ast.Attribute) and node.attr in LOADING:
            return False
    return True
