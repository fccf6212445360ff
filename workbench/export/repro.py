"""The repro of a finding: one file that uses torch alone, runs the program eager and compiled, and exits 1 when they disagree.

Generated from the program and its verdict, never executed here; ``workbench.export.gates`` runs it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from store.records import Configuration, Program, Verdict
from store.records import Warning as Caution
from workbench.errors import WorkbenchError
from workbench.export import harness
from workbench.export.form import Form, form_of
from workbench.export.harness import Check
from workbench.programs import write_block

SCRIPT_FORM = "the program is in script form, without fn or Model and get_inputs; workbench minimize brings it into that form"


@dataclass(frozen=True, slots=True)
class Repro:
    """One candidate text; ``style`` says how its check works: ``lean``, ``anew``, each perhaps with ``clone``."""

    text: str
    style: str


def repros(program: Program, verdict: Verdict, title: str = "") -> list[Repro]:
    """The possible repros, plainest first; the gates choose the first that holds. WorkbenchError for script form."""
    form = form_of(program.source)
    if not form.callable:
        raise WorkbenchError(SCRIPT_FORM, "reduce it first (workbench minimize): the reducer ends in harness form")
    check = _check(program, verdict, form)
    styles: list[tuple[str, Callable[[Check], str]]] = [("anew", harness.anew)]
    if check.symptoms <= harness.LEAN and not check.global_names:
        styles.insert(0, ("lean", harness.lean))
    found = [Repro(_assemble(program, render(check), form, title, verdict), name) for name, render in styles]
    if program.configuration.grad:
        found += [
            Repro(_assemble(program, render(replace(check, clone=True)), form, title, verdict), f"{name}, clone") for name, render in styles
        ]
    return found


def _check(program: Program, verdict: Verdict, form: Form) -> Check:
    heads = [_head(d.path) for d in verdict.differences if d.excused is None]
    global_names = tuple(dict.fromkeys(name for section, name in heads if section == "globals" and name))
    return Check(
        form=form,
        configuration=program.configuration,
        symptoms=frozenset(verdict.symptoms),
        sections=frozenset(section for section, _ in heads),
        global_names=global_names,
        threads=Caution.THREADS_MATTER in verdict.warnings,
    )


def _head(path: str) -> tuple[str, str]:
    """``globals.box.v`` -> (globals, box); ``return[0]`` -> (return, '')."""
    parts = re.split(r"[.\[]", path, maxsplit=2)
    return parts[0], parts[1].rstrip("]").strip("'\"") if len(parts) > 1 else ""


def _assemble(program: Program, check: str, form: Form, title: str, verdict: Verdict) -> str:
    body = write_block(program.source, Configuration()).strip("\n")
    names = _clashes(check, form)
    imports = _imports(check, form, names)
    about = [f"# {' '.join(title.split())}"] if title else []
    about += [
        f"# Exits 1 when eager and torch.compile disagree, 0 when they agree. {harness.BACKEND_VARIABLE} chooses the backend:",
        f"# {harness.BACKEND_VARIABLE}=aot_eager python FILE. Seen with torch {verdict.torch or 'unknown'}.",
    ]
    rest = "\n".join([*imports, "", _renamed(check, names)])
    return "\n".join(about) + "\n" + body + "\n\n\n# The check: the program eager against compiled.\n" + rest + "\n"


_MODULES: Mapping[str, str] = {"os": "os", "sys": "sys", "types": "types", "random_module": "random", "numpy_module": "numpy"}
_TREE = ("keystr", "tree_flatten_with_path", "tree_leaves", "tree_map")
_FUNCTIONS = ("run", "main", "load", "walk", "same", "aliases", "backend")


@lru_cache(maxsize=64)
def _names(check: str) -> frozenset[str]:
    """Names in a check's text; few texts serve all findings, and reading one takes 5 ms (three quarters of making a repro)."""
    return frozenset(token.string for token in _tokens(check) if token.type == tokenize.NAME)


def _clashes(check: str, form: Form) -> dict[str, str]:
    """Names that the check uses and the program uses too, with what the check says instead."""
    used = _names(check)
    own = [name for name in (*_FUNCTIONS, *_TREE, *_MODULES) if name in used]
    return {name: f"{name}_of_check" for name in own if name in form.names}


def _imports(check: str, form: Form, names: Mapping[str, str]) -> list[str]:
    used = _names(check)
    lines = []
    for name, module in _MODULES.items():
        if name in used:
            said = names.get(name, name)
            lines.append(f"import {module}" if said == module else f"import {module} as {said}")
    tree = [f"{name} as {names[name]}" if name in names else name for name in _TREE if name in used]
    lines += [] if "torch" in form.names else ["import torch"]
    return [*lines, *([f"from torch.utils._pytree import {', '.join(tree)}"] if tree else [])]


def _renamed(check: str, names: Mapping[str, str]) -> str:
    """The check with the clashing names replaced; attributes and keyword arguments keep theirs."""
    if not names:
        return check
    lines = check.split("\n")
    tokens, depth = list(_tokens(check)), 0
    edits = []
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        if token.type != tokenize.NAME or token.string not in names:
            continue
        attribute = before is not None and before.string == "."
        keyword = depth > 0 and after is not None and after.string == "="
        if not attribute and not keyword:
            edits.append(token)
    for token in reversed(edits):
        row, column = token.start[0] - 1, token.start[1]
        lines[row] = lines[row][:column] + names[token.string] + lines[row][column + len(token.string) :]
    return "\n".join(lines)


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(text).readline)
