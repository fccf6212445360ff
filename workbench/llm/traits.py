"""Whether a program's text has a bug characteristic: predicates on its tree, named in ``traits.toml`` per characteristic. Runs nothing.

Necessary signs, not proof: they catch answers that left the seed's idea alone.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources

from workbench.signature import VIEWS

NAMED = 4
"""Functions that a sentence names; the others are counted."""
Sign = Callable[[ast.Module], bool]
"""``[sign, ...]``: all must hold; a sign ``a|b`` holds when one of its words does. ``call:x`` (or ``call:x,y``): one of these is called,
and not just as in the seed; ``has:x``: also as there; ``text:x``: this stands in the text."""


def lacking(characteristic: str, tree: ast.Module, seed: ast.Module | None = None) -> list[str]:
    """The signs of a characteristic that a program does not show; empty: it shows them all, or none are known."""
    return [sign for sign in table().get(characteristic, ()) if not shows(sign, tree, seed)]


def in_words(sign: str) -> str:
    """A sign as people read it: ``a call of cat, stack or 3 more, or view``."""
    told = []
    for word in sign.split("|"):
        name, _, argument = word.partition(":")
        names = argument.split(",")
        if name in ("call", "has"):
            more = f" or {len(names) - NAMED} more" if len(names) > NAMED else ""
            told.append(f"a call of {', '.join(names[:NAMED])}{more}")
        else:
            told.append(f'the text "{argument}"' if name == "text" else name.replace("_", " "))
    return ", or ".join(told)


def shows(sign: str, tree: ast.Module, seed: ast.Module | None = None) -> bool:
    """Whether a program shows a sign."""
    for word in sign.split("|"):
        name, _, argument = word.partition(":")
        if name == "call" and _texts(tree, argument.split(",")) - (_texts(seed, argument.split(",")) if seed else set()):
            return True
        if name == "has" and calls(tree) & set(argument.split(",")):
            return True
        if name == "text" and argument in ast.unparse(tree):
            return True
        if name in SIGNS and SIGNS[name](tree):
            return True
    return False


@cache
def table() -> dict[str, tuple[str, ...]]:
    """Signs by characteristic."""
    data = tomllib.loads((resources.files("workbench.llm") / "traits.toml").read_text(encoding="utf-8"))
    return {name: tuple(signs) for name, signs in data.items()}


def calls(tree: ast.AST) -> set[str]:
    """Names of everything called."""
    return {name for node in ast.walk(tree) if isinstance(node, ast.Call) and (name := _called(node))}


def _texts(tree: ast.AST, names: Sequence[str]) -> set[str]:
    """The calls of some functions, as text."""
    return {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in names}


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    return next((s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == name), None)


def _tested(tree: ast.Module) -> Iterator[ast.AST]:
    """Everything but how the inputs are made."""
    for statement in tree.body:
        if not (isinstance(statement, ast.FunctionDef) and statement.name in ("get_inputs", "get_init_inputs")):
            yield from ast.walk(statement)


def _has(*kinds: type[ast.AST]) -> Sign:
    return lambda tree: any(isinstance(node, kinds) for node in _tested(tree))


def _in_place(tree: ast.Module) -> bool:
    for node in _tested(tree):
        if isinstance(node, ast.Call):
            name = _called(node)
            if (name.endswith("_") and not name.startswith("_")) or (name.startswith("_foreach") and name.endswith("_")):
                return True
            if any(
                k.arg == "out" or (k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value is True)
                for k in node.keywords
            ):
                return True
        if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Assign) and any(isinstance(t, ast.Subscript) for t in node.targets)):
            return True
    return False


def _view(tree: ast.Module) -> bool:
    for node in _tested(tree):
        if isinstance(node, ast.Call) and _called(node) in VIEWS:
            return True
        if isinstance(node, ast.Attribute) and node.attr in VIEWS:
            return True
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return True
    return False


def _called_again(tree: ast.Module) -> bool:
    drive = _function(tree, "drive")
    if drive is None or not drive.args.args:
        return False
    name = drive.args.args[0].arg
    found = sum(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name for n in ast.walk(drive))
    return found > 1 or (found == 1 and any(isinstance(n, ast.For | ast.While | ast.comprehension) for n in ast.walk(drive)))


def _dtype(tree: ast.Module) -> bool:
    names = {
        "half",
        "bfloat16",
        "double",
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "to",
        "type",
    }
    names |= {"int", "long", "short", "byte", "float", "char", "type_as", "complex64", "complex128"}
    return any(isinstance(n, ast.Attribute) and n.attr in names for n in _tested(tree))


def _container(tree: ast.Module) -> bool:
    wanted = {
        "deque",
        "dict",
        "list",
        "set",
        "iter",
        "reversed",
        "zip",
        "enumerate",
        "OrderedDict",
        "defaultdict",
        "chain",
        "islice",
        "namedtuple",
    }
    return bool(calls(tree) & wanted) or any(
        isinstance(n, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp) for n in _tested(tree)
    )


def _numbers(tree: ast.AST) -> Iterator[float]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
            yield float(node.value)


def _literal_0_or_1(tree: ast.Module) -> bool:
    for node in _tested(tree):
        if isinstance(node, ast.BinOp) and any(isinstance(s, ast.Constant) and s.value in (0, 1, -1) for s in (node.left, node.right)):
            return True
    return bool(calls(tree) & {"zeros", "ones", "zeros_like", "ones_like", "full", "full_like"})


def _large_number(tree: ast.Module) -> bool:
    powers = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow | ast.LShift) for n in ast.walk(tree))
    return powers or any(abs(n) >= 2**15 for n in _numbers(tree)) or "iinfo" in calls(tree)


def _odd_length(tree: ast.Module) -> bool:
    return any(n in (7, 9, 15, 17, 31, 33, 63, 65, 127, 129) for n in _numbers(tree))


def _layout(tree: ast.Module) -> bool:
    maker = _function(tree, "get_inputs")
    where: list[ast.AST] = [maker] if maker else []
    where += [d for d in [_function(tree, "drive")] if d]
    return any(
        (isinstance(n, ast.Call) and _called(n) in VIEWS | {"to", "contiguous", "clone"}) or (isinstance(n, ast.Attribute) and n.attr in ("T", "mT"))
        or (isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice | ast.Tuple))
        for part in where
        for n in ast.walk(part)
    )  # fmt: skip


def _empty_part(tree: ast.Module) -> bool:
    for node in _tested(tree):
        if isinstance(node, ast.Slice) and isinstance(node.upper, ast.Constant) and node.upper.value == 0:
            return True
        if isinstance(node, ast.Slice) and isinstance(node.lower, ast.Constant | ast.Attribute | ast.Call) and node.upper is None:
            return True
    return 0.0 in _numbers(tree) and bool(
        calls(tree) & {"empty", "zeros", "narrow", "zeros_like", "ones", "new_empty", "masked_fill_", "masked_select"}
    )


def _module_state(tree: ast.Module) -> bool:
    """Something at module level besides imports, functions and classes, that a function refers to."""
    bound = {t.id for s in tree.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    return any(
        isinstance(n, ast.Name) and n.id in bound for s in tree.body if isinstance(s, ast.FunctionDef | ast.ClassDef) for n in ast.walk(s)
    )


def _sets_state(tree: ast.Module) -> bool:
    drive = _function(tree, "drive")
    if drive is None:
        return False
    for node in ast.walk(drive):
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Delete):
            return True
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Attribute | ast.Subscript) for t in targets):
                return True
    names = {"append", "update", "setattr", "register_forward_hook", "train", "eval", "pop", "clear", "extend", "add", "register_buffer"}
    return bool(calls(drive) & names)


SIGNS: dict[str, Sign] = {
    "in_place": _in_place,
    "view": _view,
    "called_again": _called_again,
    "drive": lambda tree: _function(tree, "drive") is not None,
    "dtype": _dtype,
    "container": _container,
    "literal_0_or_1": _literal_0_or_1,
    "large_number": _large_number,
    "odd_length": _odd_length,
    "layout": _layout,
    "empty_part": _empty_part,
    "module_state": _module_state,
    "sets_state": _sets_state,
    "class": _has(ast.ClassDef),
    "with": _has(ast.With),
    "flow": _has(ast.Try, ast.Yield, ast.YieldFrom, ast.Nonlocal, ast.Global, ast.With, ast.While, ast.Lambda, ast.Raise),
    "set_item": lambda tree: any(
        isinstance(t, ast.Subscript) for n in _tested(tree) if isinstance(n, ast.Assign | ast.AugAssign)
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
    ),
}  # fmt: skip
