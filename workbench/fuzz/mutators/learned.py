"""Rules that were drafted from issue texts and accepted by a person: snippets kept as data, put into programs like those of the pools.

A rule is text that ends up in a mutant, which runs untrusted; nothing of it is ever executed on the host.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from store.syntax import parse
from workbench.characteristics import learned_folder
from workbench.errors import WorkbenchError
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.constructs import plant
from workbench.fuzz.mutators.registry import Apply, Mutator
from workbench.fuzz.subject import Subject

SUFFIX = ".rule.toml"
Item = tuple[str, str, str]
"""Name, code with ``{v}`` and ``{r}`` and Python's own braces doubled, what is observed."""


def learned() -> dict[str, Mutator]:
    """Mutators of the accepted rules, by name. WorkbenchError for a file that is none."""
    folder = learned_folder()
    found = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else ():
        characteristic = path.name.removesuffix(SUFFIX)
        name = "learned_" + characteristic.replace("-", "_")
        found[name] = Mutator(name, (characteristic,), rule(read(path)), compiles=False)
    return found


def rule(items: Sequence[Item]) -> Apply:
    """A rule that puts one of the snippets into a program and observes its result."""

    def apply(subject: Subject, draw: Draw) -> str | None:
        return plant(subject, draw, tuple(items), 1)

    return apply


def read(path: Path) -> list[Item]:
    """The snippets of a rule's file; WorkbenchError says what is wrong with it."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        items = [(str(i["name"]), str(i["code"]).strip("\n"), str(i["seen"])) for i in data["item"]]
        for _, code, seen in items:
            parse(code.format(v="v", r="r") + f"\n{seen.format(v='v', r='r')}\n")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, IndexError, SyntaxError) as error:
        raise WorkbenchError(
            f"{path}: no rule ({type(error).__name__}: {error})", "mend or remove it; the files beside it show the form"
        ) from error
    return items


def templated(code: str) -> str:
    """A snippet with ``{v}`` and ``{r}`` as a format string: all other braces are Python's own."""
    return re.sub(r"\{\{([vr])\}\}", r"{\1}", code.replace("{", "{{").replace("}", "}}"))


def binds_result(code: str) -> bool:
    """Whether a format string assigns ``{r}``."""
    tree = parse(code.format(v="v", r="made_here"))
    return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == "made_here" for n in ast.walk(tree))
