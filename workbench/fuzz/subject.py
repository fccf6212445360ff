"""A program while it is mutated: its tree, what the trace saw, and the few edits that mutators make. Text in, text out; runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from store.records import JSON, Configuration, Program
from store.syntax import parse, parse_expression
from workbench.fuzz.draw import Draw
from workbench.fuzz.values import Value
from workbench.programs import parse_block, write_block

Where = Callable[[Value], bool]


@dataclass(slots=True)
class Site:
    """A place in the entry function: behind statement ``after`` (-1: before the first), where ``live`` names are bound."""

    after: int
    live: dict[str, Value]


class Subject:
    """One program under mutation. Mutators read ``sites``/``pick`` and edit with ``insert``, ``observe``, ``wrap_input`` and the like.

    ``observed`` collects what is added to what is returned, each as the text that made it (empty for a name of the program's own);
    ``raises`` is set when eager is expected to raise.
    """

    def __init__(self, program: Program, facts: Mapping[str, JSON]) -> None:
        self.program = program
        self.configuration: Configuration = program.configuration
        self.tree = parse(program.source)
        self.values = [Value.from_json(v) for v in facts.get("values", ())]
        self.lines: Mapping[str, Sequence[int]] = facts.get("lines", {})
        self.inputs: Sequence[JSON] = facts.get("inputs", ())
        self.entry = _entry(self.tree)
        self.observed: list[str] = []
        self.raises = False
        self._edited = -1
        self._made: dict[str, str] = {}
        self._names = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | {
            n.arg for n in ast.walk(self.tree) if isinstance(n, ast.arg)
        }
        self._sites = self._find_sites()

    # ---- reading -------------------------------------------------------------------------------------------------------------------

    @property
    def sites(self) -> list[Site]:
        """Places in the entry function's own body, before its last return, that were executed; with the tensors bound there."""
        return self._sites

    def pick(self, draw: Draw, where: Where = lambda _: True, *, written: bool = False) -> tuple[Site, Value] | None:
        """A site and a tensor bound there, whole-numbered ones four times as likely; None when nothing fits.

        ``written``: it must be writable in place.
        """
        options: list[tuple[Site, Value]] = []
        weights: list[float] = []
        for site in self.sites:
            for value in site.live.values():
                if value.plain and value.small and (value.writable or not written) and where(value):
                    options.append((site, value))
                    weights.append((4.0 if value.integral else 1.0) * (2.0 if value.position is not None else 1.0))
        if not options:
            return None
        site, value = draw.weighted(options, weights)
        return Site(site.after, dict(site.live)), value

    def fresh(self, stem: str) -> str:
        """A name that the program does not use yet."""
        name, n = stem, 1
        while name in self._names:
            n += 1
            name = f"{stem}{n}"
        self._names.add(name)
        self._made[name] = ""
        return name

    # ---- editing -------------------------------------------------------------------------------------------------------------------

    def insert(self, site: Site, code: str) -> None:
        """Put statements at a site, behind what was put there before through the same site."""
        statements = parse(code).body
        assert self.entry is not None
        for statement in statements:
            if isinstance(statement, ast.Assign) and isinstance(target := statement.targets[0], ast.Name) and target.id in self._made:
                self._made[target.id] = ast.unparse(statement.value)
        self.entry.body[site.after + 1 : site.after + 1] = statements
        shift = len(statements)
        for other in self._sites:
            if other.after > site.after:
                other.after += shift
        site.after += shift
        self._edited = max(self._edited + shift if self._edited > site.after - shift else site.after, site.after)

    def observe(self, *texts: str) -> None:
        """Return these expressions too, wherever the entry function returns behind everything inserted."""
        assert self.entry is not None
        self.observed.extend(self._made.get(t, "") if t.isidentifier() else t for t in texts)
        for statement in _own_returns(self.entry.body[self._edited + 1 :]):
            extra = [parse_expression(t) for t in texts]
            value = statement.value or ast.Constant(None)
            if isinstance(value, ast.Tuple) and getattr(value, "_joined", False):
                value.elts.extend(extra)
            else:
                joined = ast.Tuple([*(value.elts if isinstance(value, ast.Tuple) else [value]), *extra], ast.Load())
                joined._joined = True  # type: ignore[attr-defined]
                statement.value = joined

    def define(self, code: str) -> None:
        """Put definitions at module level, before the entry function or its class."""
        at = next((i for i, s in enumerate(self.tree.body) if isinstance(s, ast.FunctionDef | ast.ClassDef)), len(self.tree.body))
        self.tree.body[at:at] = parse(code).body

    def need(self, code: str) -> None:
        """Make sure of an import, written as one statement; none is written twice."""
        wanted = parse(code).body[0]
        if any(ast.unparse(s) == ast.unparse(wanted) for s in self.tree.body):
            return
        at = next((i for i, s in enumerate(self.tree.body) if isinstance(s, ast.Import | ast.ImportFrom)), 0)
        self.tree.body.insert(at, wanted)

    def wrap_input(self, position: int, template: str) -> bool:
        """Replace an element of ``get_inputs``'s list by a template around it (``{v}``). False when the list is not written out."""
        listed = self._input_list()
        if listed is None or position >= len(listed.elts):
            return False
        old = ast.unparse(listed.elts[position])
        listed.elts[position] = parse_expression(template.format(v=f"({old})"))
        return True

    def add_parameter(self, name: str, text: str) -> bool:
        """Give the callable one more positional argument, made by ``text`` in ``get_inputs``. False when that cannot be done by text."""
        listed = self._input_list()
        if listed is None or self.entry is None or self.entry.args.vararg or self.entry.args.defaults or self.drive is not None:
            return False
        self.entry.args.args.append(ast.arg(name))
        listed.elts.append(parse_expression(text))
        return True

    @property
    def drive(self) -> ast.FunctionDef | None:
        """The program's own ``drive``."""
        return next((s for s in self.tree.body if isinstance(s, ast.FunctionDef) and s.name == "drive"), None)

    def set_drive(self, code: str) -> bool:
        """Add a ``drive(fn, inputs)``; False when the program has one."""
        if self.drive is not None:
            return False
        self.tree.body.extend(parse(code).body)
        return True

    def configure(self, **changes: JSON) -> None:
        """Change keys of the program's configuration; ``inductor`` and ``dynamo`` are merged into what is there."""
        for table in ("inductor", "dynamo"):
            if table in changes:
                changes[table] = {**getattr(self.configuration, table), **changes[table]}
        self.configuration = self.configuration.with_(**changes)

    def result(self) -> Program:
        """The mutated program: canonical text with its block."""
        ast.fix_missing_locations(self.tree)
        text = ast.unparse(self.tree) + "\n"
        return Program(write_block(text, self.configuration), self.configuration, self.program.name)

    # ---- inside --------------------------------------------------------------------------------------------------------------------

    def _input_list(self) -> ast.List | ast.Tuple | None:
        maker = next((s for s in self.tree.body if isinstance(s, ast.FunctionDef) and s.name == "get_inputs"), None)
        returned = [n for n in ast.walk(maker) if isinstance(n, ast.Return)] if maker else []
        if len(returned) == 1 and isinstance(returned[0].value, ast.List | ast.Tuple):
            return returned[0].value
        return None

    def _find_sites(self) -> list[Site]:
        if self.entry is None or not _own_returns(self.entry.body):
            return []
        function = _entry_name(self.tree, self.entry)
        mine = sorted((v for v in self.values if v.function == function), key=lambda v: v.line)
        executed = set(self.lines.get(function, ()))
        live = {v.name: v for v in mine if v.position is not None and v.line <= self.entry.body[0].lineno}
        start = 1 if _is_docstring(self.entry.body[0]) else 0
        sites = [Site(start - 1, dict(live))]
        for index, statement in enumerate(self.entry.body[start:], start):
            if isinstance(statement, ast.Return | ast.Raise):
                break
            last = statement.end_lineno or statement.lineno
            if executed and not any(statement.lineno <= line <= last for line in executed):
                break
            for value in mine:
                if statement.lineno <= value.line <= last and value.position is None:
                    live[value.name] = value
            bound = _bound_names(statement)
            live = {n: v for n, v in live.items() if n not in bound or statement.lineno <= v.line <= last}
            sites.append(Site(index, dict(live)))
        return sites


def subject_of(source: str, name: str, facts: Mapping[str, JSON]) -> Subject:
    """A subject from text alone."""
    return Subject(Program(source, parse_block(source, name), name), facts)


def _entry(tree: ast.Module) -> ast.FunctionDef | None:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "fn":
            return statement
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "Model":
            return next((s for s in statement.body if isinstance(s, ast.FunctionDef) and s.name == "forward"), None)
    return None


def _entry_name(tree: ast.Module, entry: ast.FunctionDef) -> str:
    return entry.name if entry in tree.body else f"Model.{entry.name}"


def _own_returns(body: Sequence[ast.stmt]) -> list[ast.Return]:
    """Return statements of these statements themselves, not of functions inside them."""
    found: list[ast.Return] = []
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return):
            found.append(node)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _bound_names(statement: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
