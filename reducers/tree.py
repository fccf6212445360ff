"""Programs as trees: numbering nodes, applying several edits at once, printing. Every edit names nodes of one tree by preorder number, so
that any subset of a pass's edits gives a candidate.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reducers.nodes import children, copied, preorder, walk
from store.syntax import parse

HARNESS = frozenset({"fn", "Model", "get_inputs", "get_init_inputs", "drive"})
"""Names that the program form gives a meaning (DESIGN §2); no pass removes or renames them."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The node of this number, with whatever other edits do to it."""

    number: int


Replacement = None | Ref | ast.AST | tuple[Ref | ast.AST, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes to apply together: node number to what takes its place; None deletes it, a tuple stands for several statements.

    gain: rough size of what goes; passes sort by it
    """

    changes: tuple[tuple[int, Replacement], ...]
    gain: int = 1

    @classmethod
    def of(cls, number: int, replacement: Replacement, gain: int = 1) -> Edit:
        return cls(((number, replacement),), gain)


def canonical(source: str) -> str:
    """The text as the search prints it: no comments, no layout. The identity of a candidate."""
    return show(parse(source))


def show(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def numbers(tree: ast.AST) -> dict[int, int]:
    """id(node) to number. Contexts (``ast.Load`` ...) are shared between nodes and never edited."""
    return {id(node): number for number, node in enumerate(preorder(tree))}


def parents(tree: ast.AST) -> dict[int, ast.AST]:
    """id(node) to its parent."""
    return {id(child): node for node in walk(tree) for child in children(node)}


def weight(node: ast.AST) -> int:
    """How many nodes there are below and at a node."""
    return sum(1 for n in walk(node) if not isinstance(n, ast.expr_context))


def apply(tree: ast.Module, edits: Iterable[Edit]) -> ast.Module | None:
    """A changed copy, or None when the edits leave no valid Python. Of two changes to one node the first wins."""
    changes: dict[int, Replacement] = {}
    for edit in edits:
        for number, replacement in edit.changes:
            changes.setdefault(number, replacement)
    fresh = copied(tree)
    try:
        changed = _Applier(fresh, changes).visit(fresh)
        assert isinstance(changed, ast.Module)
        changed = _Bodies().visit(changed)
        return parse(show(changed))
    except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError):
        return None


class _Applier(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, changes: Mapping[int, Replacement]) -> None:
        self.nodes = list(preorder(tree))
        self.numbers = {id(node): number for number, node in enumerate(self.nodes)}
        self.changes = dict(changes)

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST] | None:
        number = self.numbers.get(id(node))
        if number is None or number not in self.changes or isinstance(node, ast.expr_context):
            return self._inside(node)
        replacement = self.changes[number]
        if isinstance(replacement, tuple):
            return [n for part in replacement for n in self._several(part)]
        if isinstance(replacement, Ref) and replacement.number == number:
            return self._inside(node)
        return self._one(replacement)

    def _inside(self, node: ast.AST) -> ast.AST:
        """Changes below a node; a display that loses its last element is another thing than a shorter one: ValueError."""
        had = bool(getattr(node, "elts", None))
        changed = self.generic_visit(node)
        if had and not getattr(changed, "elts", None):
            raise ValueError("nothing is left of a display")
        return changed

    def _one(self, part: Ref | ast.AST | None) -> ast.AST | list[ast.AST] | None:
        if part is None:
            return None
        return self.visit(self.nodes[part.number]) if isinstance(part, Ref) else copied(part)

    def _several(self, part: Ref | ast.AST) -> list[ast.AST]:
        made = self._one(part)
        return made if isinstance(made, list) else [] if made is None else [made]


class _Bodies(ast.NodeTransformer):
    """Puts ``pass`` where a block lost its last statement, and drops ``pass`` where it has company."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and not isinstance(node, ast.Module):
                kept = [s for s in block if not isinstance(s, ast.Pass)]
                setattr(node, name, kept or ([ast.Pass()] if name == "body" else []))
        if isinstance(node, ast.Try) and not node.handlers and not node.finalbody:
            node.finalbody = [ast.Pass()]
        return node


def statements(source: str) -> int:
    """Statements in ``fn``, ``Model`` and ``drive`` and in what they call, docstrings aside (DESIGN §5)."""
    tree = parse(source)
    counted: dict[int, ast.stmt] = {}
    for root in reachable(tree):
        for node in walk(root):
            if (
                isinstance(node, ast.stmt)
                and not is_docstring(node)
                and not (node is root and isinstance(node, ast.FunctionDef | ast.ClassDef))
            ):
                counted[id(node)] = node
    return len(counted)


def reachable(tree: ast.Module) -> list[ast.stmt]:
    """Module-level statements that hold the code under test: ``fn``, ``Model``, ``drive`` and all they name, inputs aside."""
    homes: dict[str, ast.stmt] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        for name in bound_by(statement):
            homes.setdefault(name, statement)
    found: dict[int, ast.stmt] = {}
    waiting = ["fn", "Model", "drive"]
    while waiting:
        home = homes.get(waiting.pop())
        if home is None or id(home) in found:
            continue
        found[id(home)] = home
        waiting += [n.id for n in walk(home) if isinstance(n, ast.Name) and n.id != "get_inputs"]
    return [s for s in tree.body if id(s) in found]


def bound_by(statement: ast.stmt) -> set[str]:
    """Names that a module-level statement binds in its own scope."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).split(".")[0] for a in statement.names}
    return {n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    """The module-level function of that name."""
    return next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name), None)
