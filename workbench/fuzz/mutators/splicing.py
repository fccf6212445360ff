"""Two seeds in one program: the second's callable works on a value of the first, so that what either does may be fused, reordered or reused."""

from __future__ import annotations

import ast
from functools import cache

from store.syntax import parse
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

MOST_INPUTS = 3
GRAFT = """\
def {graft}(value, like):
    if not isinstance(like, torch.Tensor) or like.numel() == 0:
        return like
    flat = value.reshape(-1).repeat(like.numel() // value.numel() + 1)
    return flat[:like.numel()].reshape(like.shape).to(like.dtype)
"""
"""The elements of a value in the shape and dtype of another."""


@mutator("splice", "spliced-programs")
def splice(subject: Subject, draw: Draw) -> str | None:
    """Another seed's callable, fed with a value of this program in place of one of its inputs; both results are returned."""
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 2 and v.dtype in ("float32", "int64"))
    if found is None or subject.drive is not None:
        return None
    site, v = found
    name = draw.choice(_scions())
    scion = _parsed(name)
    if scion is None:
        return None
    inputs, body = scion
    part, graft = subject.fresh("part"), subject.fresh("graft")
    arguments = []
    for text in inputs:
        parameter = subject.fresh("extra")
        if not subject.add_parameter(parameter, text):
            return None
        arguments.append(parameter)
    for line in body.imports:
        subject.need(line)
    subject.define(GRAFT.format(graft=graft) + "\n" + body.renamed(part, subject))
    fed = draw.whole(0, len(arguments) - 1)
    given = [f"{graft}({v.name}, {a})" if i == fed else a for i, a in enumerate(arguments)]
    r = subject.fresh("made")
    subject.insert(site, f"{r} = {part}({', '.join(given)})")
    subject.observe(r, arguments[fed])
    return name


class _Body:
    """What a scion brings to the module: its imports, and its other top-level statements under names that clash with nothing."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports = [ast.unparse(s) for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
        self._rest = [
            s
            for s in tree.body
            if not isinstance(s, ast.Import | ast.ImportFrom | ast.Expr) and not (isinstance(s, ast.FunctionDef) and s.name == "get_inputs")
        ]

    def renamed(self, part: str, subject: Subject) -> str:
        """Text with ``fn`` called ``part`` and every other top-level name made fresh."""
        names = {"fn": part}
        for statement in self._rest:
            for name in _defined(statement):
                if name not in names:
                    names[name] = subject.fresh(f"{part}_{name.lstrip('_')}")
        tree = parse("\n".join(ast.unparse(s) for s in self._rest))
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in names:
                node.id = names[node.id]
            elif isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in names:
                node.name = names[node.name]
            elif isinstance(node, ast.Global):
                node.names = [names.get(n, n) for n in node.names]
        return ast.unparse(tree)


def _defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    return [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


@cache
def _scions() -> tuple[str, ...]:
    """Bundled seeds that can be grafted."""
    from workbench.seeds import bundled

    return tuple(seed.name for seed in bundled() if _scion(seed.program.source) is not None and not seed.configuration.non_default())


@cache
def _parsed(name: str) -> tuple[tuple[str, ...], _Body] | None:
    from workbench.seeds import named

    return _scion(named(name).program.source)


def _scion(source: str) -> tuple[tuple[str, ...], _Body] | None:
    """Texts of the inputs and the body; None for a program with its own ``drive``, a ``Model``, or inputs that are not written out."""
    tree = parse(source)
    functions = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef)}
    if "fn" not in functions or "drive" in functions or "get_inputs" not in functions or functions["fn"].args.vararg:
        return None
    maker = functions["get_inputs"].body
    if len(maker) != 1 or not isinstance(maker[0], ast.Return) or not isinstance(maker[0].value, ast.List | ast.Tuple):
        return None
    inputs = tuple(ast.unparse(e) for e in maker[0].value.elts)
    used = {n.id for e in maker[0].value.elts for n in ast.walk(e) if isinstance(n, ast.Name)}
    if not 1 <= len(inputs) <= MOST_INPUTS or used - {"torch", "range", "list", "float", "int"}:
        return None
    return inputs, _Body(tree)
