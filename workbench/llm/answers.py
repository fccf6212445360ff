"""From the text of an answer to the text of a program: its fence, its thinking aside, and what can be mended without asking again."""

from __future__ import annotations

import ast
import re
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from store.syntax import parse

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n]*\n(.*?)(?:^[ \t]*\1`*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_THINKING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_PYTHON = frozenset({"", "python", "py", "python3", "torch", "pytorch"})
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u200b": None, "\ufeff": None, "\r": None})
_IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "math": "import math",
    "itertools": "import itertools",
    "functools": "import functools",
    "collections": "import collections",
    "dataclass": "from dataclasses import dataclass",
    "contextlib": "import contextlib",
    "operator": "import operator",
}
"""Names that mean one thing in such programs, and the import that is missing when nothing binds them."""
_INPUT_NAMES = frozenset({"make_inputs", "get_input", "make_input", "inputs", "get_example_inputs", "example_inputs"})
_FN_NAMES = frozenset({"f", "func", "function", "forward", "model", "test_fn", "my_fn", "mutated_fn", "fn_mutated", "new_fn"})
LAST_LINES = 5
"""Lines at the end that may be dropped to make the rest parse."""


def program_in(answer: str) -> str | None:
    """The text of the program in an answer: its first Python block that defines something, or all of it when it is Python; None: no program."""
    text = _THINKING.sub("", plain(answer)).strip("\n")
    blocks = [m[3] for m in _FENCE.finditer(text) if m[2].lower() in _PYTHON]
    whole = [b for b in blocks if "def get_inputs" in b and re.search(r"\b(fn|Model)\b", b)]
    parts = [b for b in blocks if "def " in b or "class " in b]
    if whole:
        return whole[0]
    if parts:
        return "\n".join(parts) if len(parts) > 1 and parsed("\n".join(parts)) else parts[0]
    return text if not blocks and "def " in text and parsed(text) is not None else None


def plain(answer: str) -> str:
    """The text without what cannot be seen: byte order marks, zero widths, terminal controls, overrides of the writing direction."""
    kept = answer.replace("\r\n", "\n")
    return "".join(ch for ch in kept if ch in "\n\t" or unicodedata.category(ch) not in ("Cc", "Cf"))


def snippets_in(answer: str) -> list[str]:
    """All Python blocks of an answer, in order."""
    text = _THINKING.sub("", plain(answer))
    return [m[3].strip("\n") for m in _FENCE.finditer(text) if m[2].lower() in _PYTHON]


def prose_in(answer: str) -> str:
    """An answer without its thinking and its blocks."""
    return _FENCE.sub("", _THINKING.sub("", plain(answer)))


def parsed(source: str) -> ast.Module | None:
    """The tree, or None for what Python does not take."""
    try:
        return parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True, slots=True)
class Mended:
    """A text after mending. ``mends``: what was done, one word each; the text need not parse."""

    source: str
    mends: tuple[str, ...] = ()


def mend(source: str, seed: str) -> Mended:
    """Put right what costs nothing: missing imports (7 of 12 failures of one small model), names of the contract, code beside it, spelling.

    seed: where ``get_inputs`` is taken from when the answer leaves it out
    """
    mends: list[str] = []
    tree = parsed(source)
    for word, change in (
        ("quotes", lambda s: s.translate(_QUOTES)),
        ("indent", textwrap.dedent),
        ("prompts", _without_prompts),
        ("tail", _without_tail),
    ):
        if tree is None:
            changed = change(source)
            if changed != source:
                source, tree = changed, parsed(changed)
                mends.append(word)
    if tree is None:
        return Mended(source)
    for word, edit in _EDITS:
        if edit(tree, seed):
            mends.append(word)
    if not mends:
        return Mended(source)
    return Mended(
        ast.unparse(ast.fix_missing_locations(tree)) + "\n" if set(mends) - {"quotes", "indent", "prompts", "tail"} else source,
        tuple(mends),
    )


def _without_prompts(source: str) -> str:
    return re.sub(r"^(?:>>>|\.\.\.) ?", "", source, flags=re.MULTILINE)


def _without_tail(source: str) -> str:
    """Without the fewest last lines that keep it from parsing."""
    lines = source.rstrip().splitlines()
    for dropped in range(1, min(LAST_LINES, len(lines) - 1) + 1):
        shorter = "\n".join(lines[:-dropped]) + "\n"
        if parsed(shorter) is not None and "def get_inputs" in shorter:
            return shorter
    return source


# ---- edits of the tree: each says whether it changed something ------------------------------------------------------------------------


def _names_of_the_contract(tree: ast.Module, seed: str) -> bool:
    defined = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    changed = False
    for wanted, others in (("get_inputs", _INPUT_NAMES), ("fn", _FN_NAMES)):
        if wanted in defined or (wanted == "fn" and _has_entry(tree)):
            continue
        close = [name for name in defined if name in others]
        if len(close) == 1:
            _rename(tree, close[0], wanted)
            changed = True
    return changed


def _has_entry(tree: ast.Module) -> bool:
    bound = {t.id for s in tree.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    return "fn" in bound or any(isinstance(s, ast.FunctionDef | ast.ClassDef) and s.name in ("fn", "Model") for s in tree.body)


def _rename(tree: ast.Module, old: str, new: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == old:
            node.name = new
        elif isinstance(node, ast.Name) and node.id == old:
            node.id = new


def _inputs_of_the_seed(tree: ast.Module, seed: str) -> bool:
    """``get_inputs`` (and what it needs) from the seed, when the answer has only the function."""
    if not _has_entry(tree) or any(isinstance(s, ast.FunctionDef) and s.name == "get_inputs" for s in tree.body):
        return False
    theirs = parsed(seed)
    found = [s for s in theirs.body if isinstance(s, ast.FunctionDef) and s.name in ("get_inputs", "get_init_inputs")] if theirs else []
    tree.body.extend(found)
    return bool(found)


def _no_code_beside(tree: ast.Module, seed: str) -> bool:
    """Without calls, prints, asserts and ``if __name__`` at module level: the harness does the running."""

    def beside(s: ast.stmt) -> bool:
        if isinstance(s, ast.Expr):
            return not isinstance(s.value, ast.Constant)
        if isinstance(s, ast.If):
            return any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(s.test))
        if isinstance(s, ast.Assign):
            return any(isinstance(n, ast.Name) and n.id in ("fn", "get_inputs", "Model") for n in ast.walk(s.value)) and not _binds(s, "fn")
        return isinstance(s, ast.Assert)

    kept = [s for s in tree.body if not beside(s)]
    changed = len(kept) != len(tree.body)
    tree.body = kept
    return changed


def _no_prints(tree: ast.Module, seed: str) -> bool:
    """Without prints anywhere: a program says what it has to say by returning it."""
    changed = False
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if not isinstance(statements, list):
                continue
            kept = [s for s in statements if not _is_print(s)]
            if len(kept) != len(statements):
                setattr(node, block, kept or ([ast.Pass()] if block == "body" and not isinstance(node, ast.Module) else []))
                changed = True
    return changed


def _is_print(statement: ast.AST) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "print"


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)


def _no_compiling(tree: ast.Module, seed: str) -> bool:
    """Without ``torch.compile`` around anything: as a decorator, as a call, as ``.compile()``."""
    before = ast.dump(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.decorator_list = [d for d in node.decorator_list if not _is_compile(d.func if isinstance(d, ast.Call) else d)]
    _Uncompiled().visit(tree)
    tree.body = [s for s in tree.body if not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) and _binds(s, s.value.id))]
    return ast.dump(tree) != before


def _is_compile(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "compile" and isinstance(node.value, ast.Name) and node.value.id == "torch"


class _Uncompiled(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[0] if _is_compile(node.func) and node.args else node


def _on_cpu(tree: ast.Module, seed: str) -> bool:
    changed = False
    if "cuda" in seed:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"cuda(:\d+)?", node.value):
            node.value, changed = "cpu", True
        elif (
            isinstance(node, ast.Attribute) and node.attr == "cuda" and not (isinstance(node.value, ast.Name) and node.value.id == "torch")
        ):
            node.attr, changed = "cpu", True
    return changed


def _inputs_in_a_list(tree: ast.Module, seed: str) -> bool:
    """``get_inputs`` that returns one tensor returns a list of it."""
    changed = False
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name != "get_inputs":
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith("torch."):
                node.value, changed = ast.List([node.value], ast.Load()), True
    return changed


def _imports(tree: ast.Module, seed: str) -> bool:
    """Imports that are plainly missing."""
    bound: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound.update((a.asname or a.name).partition(".")[0] for a in node.names)
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
    missing = [line for name, line in _IMPORTS.items() if name in used - bound]
    tree.body[:0] = [s for line in missing for s in parse(line).body]
    return bool(missing)


Edit = Callable[[ast.Module, str], bool]
_EDITS: Sequence[tuple[str, Edit]] = (
    ("names", _names_of_the_contract),
    ("uncompiled", _no_compiling),
    ("beside", _no_code_beside),
    ("prints", _no_prints),
    ("inputs", _inputs_of_the_seed),
    ("list", _inputs_in_a_list),
    ("device", _on_cpu),
    ("imports", _imports),
)
