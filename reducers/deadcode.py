"""Removes what nothing uses: dead stores by backward liveness in each scope, unused functions, classes, imports and parameters with the
inputs that feed them. What may have an effect (in-place calls, random draws, appends, attribute stores) stays. Judged like any candidate.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict

from reducers.names import SCOPES, own_nodes
from reducers.nodes import copied, walk
from reducers.tree import HARNESS, bound_by, function, is_docstring

EFFECTS = frozenset(
    {
        "append", "extend", "insert", "pop", "popitem", "remove", "clear", "update", "setdefault", "sort", "reverse", "discard", "send",
        "throw", "close", "write", "register_hook", "register_buffer", "register_parameter", "register_module", "add_module",
        "load_state_dict", "manual_seed", "seed", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like",
        "bernoulli", "multinomial", "normal", "poisson", "dropout", "alpha_dropout", "feature_dropout", "rrelu", "backward", "setattr",
        "delattr", "exec", "eval", "print", "next", "resize_as", "set_default_dtype", "set_grad_enabled",
        "use_deterministic_algorithms", "graph_break", "mark_dynamic", "mark_static", "allow_in_graph", "disable", "reset", "compile",
        "step", "requires_grad_", "super", "apply", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
        "empty", "empty_like", "empty_strided",
    }
)  # fmt: skip
"""Calls that may do more than return a value. ``empty`` is among them because what it returns depends on everything before."""


def tidy(tree: ast.Module) -> ast.Module:
    """A copy without dead code; the same text when there is none."""
    work = copied(tree)
    for _ in range(20):
        before = ast.dump(work)
        _Scopes().visit(work)
        _module(work)
        _parameters(work)
        if ast.dump(work) == before:
            break
    return work


def pure(node: ast.AST, harmless: frozenset[str] = frozenset()) -> bool:
    """Whether evaluating an expression only gives a value. ``harmless``: functions of the program known to be pure."""
    for n in walk(node):
        if isinstance(n, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(n, ast.Call) and not _pure_call(n, harmless):
            return False
    return True


def _pure_call(call: ast.Call, harmless: frozenset[str]) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
    if not name or name in EFFECTS or any(k.arg in ("out", "inplace") for k in call.keywords):
        return False
    if name.endswith("_") and not name.endswith("__"):
        return False
    return isinstance(call.func, ast.Attribute) or name in harmless or name in PURE_BUILTINS


PURE_BUILTINS = frozenset(
    {
        "len",
        "int",
        "float",
        "bool",
        "str",
        "tuple",
        "list",
        "dict",
        "set",
        "range",
        "sum",
        "min",
        "max",
        "abs",
        "zip",
        "enumerate",
        "sorted",
        "round",
    }
)


class _Scopes(ast.NodeTransformer):
    """Dead stores of every function, innermost first."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        always = _captured(node)
        node.body, _ = _block(node.body, set(always), always)
        node.body = node.body or [ast.Pass()]
        return node


def _captured(scope: ast.AST) -> set[str]:
    """Names of a scope that code inside it may read or write at any time."""
    names: set[str] = set()
    for node in own_nodes(scope):
        if isinstance(node, ast.Global | ast.Nonlocal):
            names |= set(node.names)
        elif isinstance(node, SCOPES):
            names |= _loads(node)
    return names


def _loads(*nodes: ast.AST | None) -> set[str]:
    found: set[str] = set()
    for node in nodes:
        for n in walk(node) if node is not None else ():
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store):
                found.add(n.id)
            elif isinstance(n, ast.Global | ast.Nonlocal):
                found |= set(n.names)
    return found


def _stored(*targets: ast.AST) -> set[str]:
    return {n.id for t in targets for n in walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _block(body: list[ast.stmt], live: set[str], always: set[str]) -> tuple[list[ast.stmt], set[str]]:
    """The statements worth keeping when ``live`` is read afterwards, and what is read before them."""
    kept: list[ast.stmt] = []
    for statement in reversed(body):
        live, keep = _statement(statement, live, always)
        if keep:
            kept.append(statement)
    return kept[::-1], live | always


def _statement(node: ast.stmt, live: set[str], always: set[str]) -> tuple[set[str], bool]:
    match node:
        case ast.Assign(targets=targets, value=value) if all(_plain(t) for t in targets):
            names = _stored(*targets)
            if not names & live and pure(value):
                return live, False
            return (live - names) | _loads(value), True
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            if name not in live and (value is None or pure(value)):
                return live, False
            return (live - {name}) | _loads(value), True
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            if name not in live and not node.decorator_list:
                return live, False
            return (live - {name}) | _loads(node), True
        case ast.Import() | ast.ImportFrom():
            node.names = [a for a in node.names if (a.asname or a.name).split(".")[0] in live]
            return live, bool(node.names)
        case ast.Expr(value=value):
            useless = isinstance(value, ast.Name | ast.Constant) or (
                isinstance(value, ast.Tuple | ast.List | ast.BinOp | ast.Compare) and pure(value)
            )
            return (live, False) if useless else (live | _loads(value), True)
        case ast.Pass():
            return live, False
        case ast.Return(value=value):
            return _loads(value) | always, True
        case ast.If(test=test):
            node.body, first = _block(node.body, set(live), always)
            node.orelse, second = _block(node.orelse, set(live), always)
            if not node.body and not node.orelse and pure(test):
                return live, False
            node.body = node.body or [ast.Pass()]
            return first | second | _loads(test), True
        case ast.For() | ast.While() | ast.AsyncFor():
            inside = live | _loads(node)
            node.body, _ = _block(node.body, set(inside), always)
            if not node.body and not node.orelse and isinstance(node, ast.For) and pure(node.iter):
                return live, False
            node.body = node.body or [ast.Pass()]
            return inside | _loads(node), True
        case ast.With():
            node.body, inner = _block(node.body, set(live), always)
            if not node.body and all(i.optional_vars is None and pure(i.context_expr) for i in node.items):
                return live, False
            node.body = node.body or [ast.Pass()]
            return inner | live | _loads(*node.items), True
        case _:
            return live | _loads(node), True


def _plain(target: ast.expr) -> bool:
    """A target that binds names only; subscripts and attributes are effects."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(_plain(e) for e in target.elts)
    return isinstance(target, ast.Name) or (isinstance(target, ast.Starred) and _plain(target.value))


def _module(tree: ast.Module) -> None:
    """Unused module-level functions, classes, imports and pure assignments. Function bodies may read a name bound below them."""
    used = set(HARNESS)
    for statement in tree.body:
        own = bound_by(statement) if isinstance(statement, ast.FunctionDef | ast.ClassDef) else set()
        used |= _loads(statement) - (own if not own & HARNESS else set())
    kept: list[ast.stmt] = []
    last = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and last[statement.name] is not statement and statement.name in HARNESS:
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            statement.names = [a for a in statement.names if (a.asname or a.name).split(".")[0] in used or a.name.startswith("__")]
            if statement.names:
                kept.append(statement)
        elif not is_docstring(statement) and not (_removable(statement) and not bound_by(statement) & used):
            kept.append(statement)
    tree.body = kept


def _removable(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return not statement.decorator_list
    if isinstance(statement, ast.Pass):
        return True
    return isinstance(statement, ast.Assign) and all(_plain(t) for t in statement.targets) and pure(statement.value)


def _parameters(tree: ast.Module) -> None:
    """Parameters that a function never reads, with the arguments of its calls; those of ``fn`` with their inputs."""
    fn, maker = function(tree, "fn"), function(tree, "get_inputs")
    if fn is not None and maker is not None and function(tree, "drive") is None:
        made = returned_list(maker)
        used_elsewhere = any(isinstance(n, ast.Name) and n.id == "fn" for n in walk(tree))
        if made is not None and len(made.elts) == len(fn.args.args) and not used_elsewhere and not _variadic(fn):
            unused = _unread(fn)
            made.elts = [e for i, e in enumerate(made.elts) if i not in unused]
            fn.args.args = [a for i, a in enumerate(fn.args.args) if i not in unused]
    _helper_parameters(tree)


def _helper_parameters(tree: ast.Module) -> None:
    """Parameters of helpers that are only ever called by name with plain positional arguments."""
    methods = {id(m) for c in walk(tree) if isinstance(c, ast.ClassDef) for m in c.body}
    helpers: dict[str, list[ast.FunctionDef]] = defaultdict(list)
    uses: Counter[str] = Counter()
    calls: dict[str, list[ast.Call]] = defaultdict(list)
    for node in walk(tree):
        if isinstance(node, ast.Name):
            uses[node.id] += 1
        elif isinstance(node, ast.FunctionDef) and id(node) not in methods:
            helpers[node.name].append(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls[node.func.id].append(node)
    for name, found in helpers.items():
        helper = found[0]
        if name in HARNESS or len(found) != 1 or _variadic(helper) or helper.decorator_list or uses[name] != len(calls[name]):
            continue
        if not any(c.keywords or len(c.args) != len(helper.args.args) or _starred(c) for c in calls[name]):
            unused = {i for i in _unread(helper) if all(pure(c.args[i]) for c in calls[name])}
            helper.args.args = [a for i, a in enumerate(helper.args.args) if i not in unused]
            for call in calls[name]:
                call.args = [a for i, a in enumerate(call.args) if i not in unused]


def _starred(call: ast.Call) -> bool:
    return any(isinstance(a, ast.Starred) for a in call.args)


def _unread(node: ast.FunctionDef) -> set[int]:
    names = {n.id for s in node.body for n in walk(s) if isinstance(n, ast.Name)}
    return {i for i, a in enumerate(node.args.args) if a.arg not in names}


def _variadic(node: ast.FunctionDef) -> bool:
    a = node.args
    return bool(a.vararg or a.kwarg or a.defaults or a.kwonlyargs or a.posonlyargs)


def returned_list(maker: ast.FunctionDef) -> ast.Tuple | ast.List | None:
    """The display that a function ends in returning, e.g. that of ``get_inputs``."""
    last = maker.body[-1] if maker.body else None
    if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple | ast.List):
        return last.value if not any(isinstance(e, ast.Starred) for e in last.value.elts) else None
    return None
