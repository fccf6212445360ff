"""The last touch: short names, imports first, the callable before its inputs, layout as a person would leave it."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator

from reducers.deadcode import returned_list, tidy
from reducers.inline import Renamer
from reducers.makers import plain
from reducers.names import BUILTIN, arguments, bindings
from reducers.nodes import copied, walk
from reducers.tree import HARNESS, bound_by, function
from store.syntax import parse

LETTERS = ("x", "y", "z", "w", "u", "v", "a", "b", "c", "d", "e", "g", "h", "p", "q", "r", "s", "t")
FUNCTIONS = ("f", "g", "h", "k", "helper", "helper2", "helper3")
CLASSES = ("A", "B", "C", "D", "E")


def normalised(source: str) -> str:
    """The same program under short names and in the usual order, laid out by ``laid_out``. Apply ``laid_out`` alone where this is refused."""
    tree = plain(tidy(parse(source)))
    _rename(tree)
    _order(tree)
    _list_inputs(tree)
    return laid_out(ast.unparse(ast.fix_missing_locations(tree)))


def laid_out(source: str) -> str:
    """Blank lines and plain ``return a, b``; the tree stays the same."""
    lines: list[str] = []
    top = parse(source).body
    text = [ast.unparse(s).splitlines() for s in top]
    for i, (statement, block) in enumerate(zip(top, text, strict=True)):
        if i and (_is_block(statement) or _is_block(top[i - 1])):
            lines += ["", ""]
        elif i and isinstance(top[i - 1], ast.Import | ast.ImportFrom) and not isinstance(statement, ast.Import | ast.ImportFrom):
            lines += [""]
        lines += [_bare_return(line) for line in _close_up(block)]
    result = "\n".join(lines) + "\n"
    return result if ast.dump(parse(result)) == ast.dump(parse(source)) else source


def renamed(tree: ast.Module) -> ast.Module:
    """A copy under short names."""
    work = copied(tree)
    _rename(work)
    return work


def _is_block(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef | ast.ClassDef)


def _close_up(block: list[str]) -> Iterator[str]:
    """Inside a block only methods and inner functions that follow something keep an empty line before them."""
    for i, line in enumerate(block):
        if line == "" and i and (block[i - 1].endswith(":") or block[i - 1] == ""):
            continue
        yield line


def _bare_return(line: str) -> str:
    match = re.fullmatch(r"(\s*)return \((.+)\)", line)
    if match is None:
        return line
    if match[2].endswith(","):
        return line
    bare = f"{match[1]}return {match[2]}"
    try:
        same = ast.dump(parse(f"def f():\n return {match[2]}")) == ast.dump(parse(f"def f():\n{' '}{line.strip()}"))
    except SyntaxError:
        return line
    return bare if same else line


def _order(tree: ast.Module) -> None:
    """Imports first; ``get_inputs`` and ``drive`` last. The rest keeps its order, which may matter."""
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    last = [
        s for name in ("get_init_inputs", "get_inputs", "drive") for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == name
    ]
    rest = [s for s in tree.body if s not in imports and s not in last]
    imports.sort(key=lambda s: (isinstance(s, ast.ImportFrom), ast.unparse(s)))
    tree.body = [*imports, *rest, *last]


def _list_inputs(tree: ast.Module) -> None:
    """``return [x]`` rather than ``return (x,)``."""
    maker = function(tree, "get_inputs")
    if maker is not None and (made := returned_list(maker)) is not None:
        maker.body[-1] = ast.Return(ast.List(made.elts, ast.Load()))


def _rename(tree: ast.Module) -> None:
    """Long or numbered names of locals, parameters, helpers and classes become letters; short ones stay."""
    taken = (
        {n.id for n in walk(tree) if isinstance(n, ast.Name)}
        | {a.arg for a in walk(tree) if isinstance(a, ast.arg)}
        | BUILTIN
        | HARNESS
    )
    taken |= {n.attr for n in walk(tree) if isinstance(n, ast.Attribute)} | {"torch", "nn", "F"}
    taken |= {n.name for n in walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    keywords = {k.arg for k in walk(tree) if isinstance(k, ast.keyword)}
    fn = function(tree, "fn")
    parameters = {a.arg for a in fn.args.args if len(a.arg) > 1} if fn is not None else set()
    renamed: dict[str, str] = {}
    for name, choices in _renameable(tree):
        if name in renamed or name in HARNESS or name in keywords or not (name in parameters or _is_clumsy(name)):
            continue
        fresh = next((c for c in choices if c not in taken), None)
        if fresh is not None:
            renamed[name] = fresh
            taken.add(fresh)
    Renamer(renamed).visit(tree)


def _is_clumsy(name: str) -> bool:
    if name in ("self", "cls"):
        return False
    return len(name) > 3 or "_" in name or any(c.isdigit() for c in name)


def _renameable(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names that the program binds itself, in order, with the letters to choose from. Methods keep theirs."""
    methods = {id(m) for c in walk(tree) if isinstance(c, ast.ClassDef) for m in c.body}
    imported = {n for s in walk(tree) if isinstance(s, ast.Import | ast.ImportFrom) for n in bound_by(s)}
    for node in walk(copy.copy(tree)):
        if isinstance(node, ast.ClassDef):
            yield node.name, CLASSES
        elif isinstance(node, ast.FunctionDef | ast.Lambda):
            if isinstance(node, ast.FunctionDef) and id(node) not in methods:
                yield node.name, FUNCTIONS
            own = [a.arg for a in arguments(node)]
            inner = {n.name for n in walk(node) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
            locals_ = [n.id for n in walk(node) if isinstance(n, ast.Name) and n.id in bindings(node)]
            yield from ((name, LETTERS) for name in [*own, *locals_] if name not in inner | imported)
        elif isinstance(node, ast.Module):
            inner = {s.name for s in node.body if isinstance(s, ast.FunctionDef | ast.ClassDef)}
            yield from ((n, LETTERS[6:]) for s in node.body for n in sorted(bound_by(s)) if n not in inner | imported)
