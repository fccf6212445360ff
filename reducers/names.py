"""Which names a program leaves undefined: the static filter in front of the oracle. Errs on the side of letting a candidate through; a
false alarm would make a reduction miss a step, a miss costs one eager run.
"""

from __future__ import annotations

import ast
import builtins

from reducers.nodes import children, walk

BUILTIN = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__", "__class__"}

Scope = (
    ast.Module
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.GeneratorExp
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)


def undefined(tree: ast.Module) -> frozenset[str]:
    """Names that some reachable load would not find: bound nowhere around it, or in straight-line code only after it."""
    checker = _Checker()
    checker.block(tree, tree.body, [bindings(tree)])
    return frozenset(checker.missing)


def bindings(scope: ast.AST) -> set[str]:
    """Names bound in a scope itself, not in those inside it."""
    bound: set[str] = set()
    outside: set[str] = set()
    if isinstance(scope, FUNCTIONS):
        bound |= {a.arg for a in arguments(scope)}
    for node in own_nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            outside |= set(node.names)
    return bound - outside


def globals_written(tree: ast.AST) -> set[str]:
    """Names that some function declares global; binding them there defines them for everybody."""
    return {name for node in walk(tree) if isinstance(node, ast.Global) for name in node.names}


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """All parameters, also starred ones."""
    a = function.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else [])]


def own_nodes(scope: ast.AST) -> list[ast.AST]:
    """Nodes evaluated in a scope: inner functions, classes and comprehensions count as one node, but for what they evaluate outside."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [scope] if not isinstance(scope, SCOPES) else []
    if isinstance(scope, FUNCTIONS):
        waiting = [scope.body] if isinstance(scope, ast.Lambda) else list(scope.body)
    elif isinstance(scope, ast.ClassDef):
        waiting = list(scope.body)
    elif isinstance(scope, COMPREHENSIONS):
        waiting = list(children(scope))
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, SCOPES):
            waiting += outer_parts(node)
            if isinstance(node, COMPREHENSIONS):
                waiting += [n for n in walk(node) if isinstance(n, ast.NamedExpr)]
        else:
            waiting += children(node)
    return found


def outer_parts(node: ast.AST) -> list[ast.AST]:
    """What the definition of an inner scope evaluates in the scope around it: decorators, defaults, bases, the first iterable."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, *node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]
    if isinstance(node, ast.Lambda):
        return [*node.args.defaults, *[d for d in node.args.kw_defaults if d is not None]]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
        return [node.generators[0].iter]
    return []


class _Checker:
    """Walks scopes; ``around`` holds the names of every enclosing function scope and the module, which may be bound at any time."""

    def __init__(self) -> None:
        self.missing: set[str] = set()
        self.global_names: set[str] = set()

    def block(self, scope: ast.AST, body: list[ast.stmt], around: list[set[str]]) -> None:
        if isinstance(scope, ast.Module):
            self.global_names = globals_written(scope)
        own = bindings(scope)
        seen = {a.arg for a in arguments(scope)} if isinstance(scope, FUNCTIONS) else set()
        self._statements(body, own, seen, around)

    def _statements(self, body: list[ast.stmt], own: set[str], seen: set[str], around: list[set[str]]) -> None:
        for statement in body:
            if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
                seen |= {n.id for n in walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            self._node(statement, own, seen, around)

    def _node(self, node: ast.AST, own: set[str], seen: set[str], around: list[set[str]]) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._load(node.id, own, seen, around)
            elif isinstance(node.ctx, ast.Store):
                seen.add(node.id)
        elif isinstance(node, SCOPES):
            self._scope(node, own, seen, around)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            seen |= {(a.asname or a.name).split(".")[0] for a in node.names}
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name):
                self._load(node.target.id, own, seen, around)
            self._children(node, own, seen, around)
        elif isinstance(node, ast.Assign):
            for part in (node.value, *node.targets):
                self._node(part, own, seen, around)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self._node(node.iter, own, seen, around)
            self._node(node.target, own, seen, around)
            self._statements([*node.body, *node.orelse], own, seen, around)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            name = node.rest if isinstance(node, ast.MatchMapping) else node.name
            if name:
                seen.add(name)
            self._children(node, own, seen, around)
        else:
            self._children(node, own, seen, around)

    def _children(self, node: ast.AST, own: set[str], seen: set[str], around: list[set[str]]) -> None:
        for child in children(node):
            if isinstance(child, ast.stmt):
                self._statements([child], own, seen, around)
            else:
                self._node(child, own, seen, around)

    def _load(self, name: str, own: set[str], seen: set[str], around: list[set[str]]) -> None:
        if name in seen or name in BUILTIN or name in self.global_names:
            return
        if name in own or not any(name in names for names in around):
            self.missing.add(name)

    def _scope(self, node: ast.AST, own: set[str], seen: set[str], around: list[set[str]]) -> None:
        for part in outer_parts(node):
            self._node(part, own, seen, around)
        inner = bindings(node)
        if isinstance(node, ast.ClassDef):
            seen.add(node.name)
            self._statements(node.body, inner, set(), [*around, own])
        elif isinstance(node, ast.Lambda):
            self._node(node.body, inner, set(inner), [*around, own])
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            seen.add(node.name)
            self._statements(node.body, inner, {a.arg for a in arguments(node)}, [*around, own])
        else:
            everything = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            for child in children(node):
                self._children(child, set(), everything, [*around, own])
                if isinstance(child, ast.Name):
                    self._node(child, set(), everything, [*around, own])
