"""What a program's text says about how a repro can run it: the names it defines, and whether its functions may simply be called again."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass

from store.syntax import parse
from workbench.errors import WorkbenchError

SWITCHES = {
    "set_default_dtype": "torch.float32",
    "set_grad_enabled": "True",
    "set_autocast_enabled": '"cpu", False',
    "set_default_device": "None",
    "set_float32_matmul_precision": '"highest"',
    "use_deterministic_algorithms": "False",
}
"""Functions of torch that switch something for the whole process, and their arguments in a fresh one."""


@dataclass(frozen=True, slots=True)
class Form:
    """What the repro has to know of a program.

    callable:  ``fn`` or ``Model``; empty for script form, which has neither
    drive:     it defines ``drive``
    init:      it defines ``get_init_inputs``
    stateless: only imports, functions, classes and constants at top level, so that functions may simply be called again
    random:    it uses Python's ``random``
    numpy:     it uses numpy
    sets:      torch's switches for the whole process that it sets, in order of ``SWITCHES``
    names:     every identifier in it, which the repro must not redefine
    """

    callable: str
    drive: bool
    init: bool
    stateless: bool
    random: bool
    numpy: bool
    sets: tuple[str, ...]
    names: frozenset[str]


def form_of(source: str) -> Form:
    """The form of a program's text; WorkbenchError for one that this Python cannot read (a colleague's may be newer)."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise WorkbenchError(
            f"Python {sys.version_info.major}.{sys.version_info.minor} cannot read the program ({what})",
            "run the workbench under the Python that found it",
        ) from error
    top = _top_names(tree)
    names = frozenset(_identifiers(tree))
    attributes = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    modules = _imported(tree)
    callable_ = "fn" if "fn" in top else "Model" if "Model" in top else ""
    return Form(
        callable=callable_ if "get_inputs" in top else "",
        drive="drive" in top,
        init="get_init_inputs" in top,
        stateless=all(_stateless(node) for node in tree.body) and not _rebinds_globals(tree),
        random="random" in modules,
        numpy="numpy" in modules,
        sets=tuple(name for name in SWITCHES if name in attributes),
        names=names,
    )


def _top_names(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        else:
            found |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return found


def _identifiers(tree: ast.Module) -> set[str]:
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    found |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return found | _top_names(tree)


def _imported(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def _stateless(node: ast.stmt) -> bool:
    """Whether a top-level statement leaves nothing behind that a second call of the same functions could see changed."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=value):
            return _immutable(value)
        case ast.FunctionDef():
            defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
            return not node.decorator_list and all(_immutable(d) for d in defaults)
        case ast.ClassDef():
            return not node.decorator_list and all(_stateless(inner) for inner in node.body)
    return False


def _immutable(value: ast.expr) -> bool:
    """A constant, a dtype such as ``torch.float16``, or a tuple of them."""
    match value:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=ast.Constant()):
            return True
        case ast.Tuple(elts=elements):
            return all(_immutable(e) for e in elements)
        case ast.Attribute(value=ast.Name(id="torch")):
            return True
    return False


def _rebinds_globals(tree: ast.Module) -> bool:
    """``global x``, or an attribute written on something defined at top level (``fn.calls = 1``, ``Model.scale = 2``)."""
    top = _top_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            return True
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id in top
        ):
            return True
    return False
