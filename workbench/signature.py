"""What makes two findings the same bug: the skeleton of a program, read from its text, and the signature built on it. Runs nothing.

The final signature keeps the order of the ops of a minimal program. The provisional one, of a program full of filler, keeps only the set of
ops that the differing outputs depend on, so that two mutants of one seed with the same bug usually share a bucket before they are reduced.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from store.records import Difference, Outcome, Signature, Symptom, Verdict
from store.syntax import parse

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "bitwise_and", ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}  # fmt: skip
UNARY = {ast.USub: "neg", ast.Invert: "bitwise_not"}
COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}

VIEWS = frozenset(
    {
        "view", "view_as", "reshape", "reshape_as", "t", "transpose", "permute", "swapaxes", "swapdims", "movedim", "expand", "expand_as",
        "unfold", "diagonal", "as_strided", "narrow", "select", "squeeze", "unsqueeze", "flatten", "unflatten", "chunk", "split",
        "tensor_split", "unbind", "detach", "real", "imag", "view_as_real", "view_as_complex", "broadcast_to", "mT", "T", "H", "mH",
        "data", "ravel", "contiguous", "hsplit", "vsplit", "dsplit",
    }
)  # fmt: skip
MADE_BY = frozenset(
    {
        "tensor", "randn", "rand", "ones", "zeros", "full", "arange", "randint", "empty", "eye", "linspace", "randperm", "normal",
        "as_tensor", "scalar_tensor",
    }
)  # fmt: skip
DTYPES = {
    "bool": "bool", "uint8": "uint8", "int8": "int", "int16": "int", "short": "int", "int32": "int", "int": "int", "int64": "int",
    "long": "int", "uint16": "uint", "uint32": "uint", "uint64": "uint", "float16": "half", "half": "half", "bfloat16": "half",
    "float32": "float", "float": "float", "float64": "double", "double": "double", "complex64": "complex", "complex128": "complex",
    "cfloat": "complex", "cdouble": "complex",
}  # fmt: skip
SAME_OP = {
    "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div", "negative": "neg", "absolute": "abs", "mm": "matmul",
}  # fmt: skip
ONE_KIND = {Symptom.NAN: Symptom.VALUE, Symptom.STRUCTURE: Symptom.PYVALUE}
OF_FORM = frozenset({Symptom.STRUCTURE, Symptom.PYVALUE, Symptom.ALIAS, Symptom.RNG, Symptom.MODES, Symptom.REQUIRES_GRAD})
"""Symptoms of what is around the numbers: where only these show, the dtypes of the inputs tell no bugs apart."""

PLAIN_PYTHON = frozenset(
    {
        "getattr", "setattr", "isinstance", "hasattr", "type", "print", "repr", "str", "id", "callable", "super", "len", "range",
    }
)  # fmt: skip


def signature(verdict: Verdict, source: str, *, final: bool = False) -> Signature:
    """The signature of a judged program. ``final``: the source is a reduced one, so order counts and nothing in it is filler."""
    flags = list(_configuration_flags(verdict))
    ops = skeleton(source) if final else tuple(sorted(set(skeleton(source, outputs=differing_outputs(verdict.differences)))))
    if verdict.symptoms and set(verdict.symptoms) <= OF_FORM:
        ops = tuple(op for op in ops if not op.startswith("in:"))
    return Signature(verdict.stage, verdict.guilty, grouped(verdict.symptoms), (*ops, *flags), final)


def grouped(symptoms: Iterable[Symptom]) -> tuple[Symptom, ...]:
    """The symptoms that tell bugs apart: NaN is a wrong value, and how many items a list of sizes has is as much a Python value as the sizes."""
    return tuple(sorted({ONE_KIND.get(symptom, symptom) for symptom in symptoms}, key=list(Symptom).index))


def differing_outputs(differences: Sequence[Difference]) -> frozenset[int] | None:
    """Which elements of a returned tuple differ; None when something else than such an element differs too."""
    found: set[int] = set()
    for difference in differences:
        if difference.excused is not None:
            continue
        match = re.match(r"return\[(\d+)\]", difference.path)
        if match is None:
            return None
        found.add(int(match[1]))
    return frozenset(found) or None


def skeleton(source: str, *, outputs: frozenset[int] | None = None) -> tuple[str, ...]:
    """Ops of the callable in order of evaluation, ``~`` behind a view, ``!`` behind an in-place op; before them the dtype classes of the
    inputs, behind them structure flags: ``+call:2`` (called again), ``+loop``, ``+branch``, ``+closure``, ``+class``, ``+hook`` ...

    ``outputs``: only what these elements of the returned tuple depend on. A text that does not parse has the skeleton ``("?",)``.
    """
    try:
        tree = parse(source)
    except SyntaxError:
        return ("?",)
    reader = _Reader(tree)
    entry = reader.entry()
    if entry is not None and outputs is not None:
        entry = _sliced(entry, outputs)
    ops = list(reader.ops(entry)) if entry is not None else []
    return (*reader.input_classes(), *ops, *reader.flags(entry))


class _Reader:
    """Reads one program's tree; helpers are read in place where they are called, each once a path."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
        self.active: set[str] = set()

    def entry(self) -> ast.AST | None:
        """The node whose evaluation is under test: ``fn``, ``Model.forward``, or what ``fn`` is assigned from."""
        if "fn" in self.functions:
            return self.functions["fn"]
        if "Model" in self.classes:
            return next((n for n in self.classes["Model"].body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None)
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and any("fn" in _names(t) for t in statement.targets):
                return self._behind(statement.value)
        return None

    def _behind(self, value: ast.AST) -> ast.AST:
        """What a call like ``build()`` hands out: the function it defines and returns, else the expression itself."""
        if isinstance(value, ast.Name) and value.id in self.functions:
            return self.functions[value.id]
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            called = self.functions.get(value.func.id) or self.classes.get(value.func.id)
            if isinstance(called, ast.ClassDef):
                return next((n for n in called.body if isinstance(n, ast.FunctionDef) and n.name in ("forward", "__call__")), called)
            if called is not None:
                returned = [n.value for n in ast.walk(called) if isinstance(n, ast.Return) and n.value is not None]
                for result in returned:
                    first = result.elts[0] if isinstance(result, ast.Tuple) and result.elts else result
                    if isinstance(first, ast.Name | ast.Call) and first is not value:
                        return self._behind(first)
                return called
        return value

    def ops(self, node: ast.AST) -> Iterator[str]:
        """Ops below a node, operands before operators."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for statement in node.body:
                    yield from self.ops(statement)
            case ast.Lambda():
                yield from self.ops(node.body)
            case ast.Call():
                yield from self._call(node)
            case ast.BinOp():
                yield from self._binary(node)
            case ast.AugAssign():
                yield from self.ops(node.value)
                yield BINARY[type(node.op)] + "!"
            case ast.UnaryOp() if type(node.op) in UNARY and not isinstance(node.operand, ast.Constant):
                yield from self.ops(node.operand)
                yield UNARY[type(node.op)]
            case ast.Compare():
                yield from self._children(node)
                yield from (COMPARE[type(op)] for op in node.ops if type(op) in COMPARE)
            case ast.Subscript():
                yield from self._children(node)
                yield _subscript(node)
            case ast.Attribute():
                yield from self._children(node)
                if node.attr in VIEWS and not isinstance(node.ctx, ast.Store):
                    yield node.attr + "~"
                elif node.attr in DTYPES and isinstance(node.value, ast.Name) and node.value.id == "torch":
                    yield ":" + DTYPES[node.attr]
            case ast.Assign():
                yield from self.ops(node.value)
                for target in node.targets:
                    if isinstance(target, ast.Subscript):
                        yield from self._children(target)
                        yield "setitem!"
                    elif isinstance(target, ast.Attribute):
                        yield "setattr!"
            case _:
                yield from self._children(node)

    def _children(self, node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context):
                yield from self.ops(child)

    def _binary(self, node: ast.BinOp) -> Iterator[str]:
        if isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant):
            return
        yield from self.ops(node.left)
        yield from self.ops(node.right)
        yield BINARY[type(node.op)]

    def _call(self, node: ast.Call) -> Iterator[str]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if isinstance(node.func, ast.Attribute):
            yield from self.ops(node.func.value)
        elif not isinstance(node.func, ast.Name):
            yield from self.ops(node.func)
        for argument in (*node.args, *(k.value for k in node.keywords)):
            yield from self.ops(argument)
        helper = self.functions.get(name)
        if helper is not None and name not in self.active and len(self.active) < 8:
            self.active.add(name)
            yield from self.ops(helper)
            self.active.discard(name)
        elif name and name not in PLAIN_PYTHON and name not in self.classes:
            yield _op(name)

    def input_classes(self) -> tuple[str, ...]:
        """Dtype classes that ``get_inputs`` mentions, ``in:float`` when it makes tensors and names none."""
        maker = self.functions.get("get_inputs")
        if maker is None:
            return ()
        classes = {DTYPES[n.attr] for n in ast.walk(maker) if isinstance(n, ast.Attribute) and n.attr in DTYPES}
        if not classes:
            classes = {_literal_class(n) for n in ast.walk(maker) if isinstance(n, ast.Call)} - {""}
        return tuple("in:" + c for c in sorted(classes))

    def flags(self, entry: ast.AST | None) -> tuple[str, ...]:
        """Structure that a bug may hang on beside the ops."""
        found: set[str] = set()
        drive = self.functions.get("drive")
        if drive is not None:
            tested = _parameters(drive)[:1]
            calls = sum(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in tested for n in ast.walk(drive))
            looped = any(isinstance(n, ast.For | ast.While | ast.comprehension) for n in ast.walk(drive))
            found.add("+call:2" if calls > 1 or looped else "+drive")
        for node in ast.walk(entry) if entry is not None else ():
            for kinds, flag in FLAGS:
                if isinstance(node, kinds):
                    found.add(flag)
        return tuple(sorted(found))


FLAGS: tuple[tuple[tuple[type[ast.AST], ...], str], ...] = (
    ((ast.For, ast.While, ast.comprehension), "+loop"),
    ((ast.If, ast.IfExp), "+branch"),
    ((ast.With,), "+with"),
    ((ast.Try,), "+try"),
    ((ast.Global, ast.Nonlocal), "+closure"),
    ((ast.ClassDef,), "+class"),
    ((ast.Yield, ast.YieldFrom), "+generator"),
)


def _sliced(entry: ast.AST, outputs: frozenset[int]) -> ast.AST:
    """The entry with its last ``return a, b, c`` cut to some elements and without the straight-line assignments nobody then reads."""
    if not isinstance(entry, ast.FunctionDef) or not entry.body or not isinstance(entry.body[-1], ast.Return):
        return entry
    last = entry.body[-1].value
    if not isinstance(last, ast.Tuple | ast.List) or max(outputs) >= len(last.elts):
        return entry
    needed = {n for i in outputs for n in _names(last.elts[i])}
    kept: list[ast.stmt] = []
    for statement in reversed(entry.body[:-1]):
        written = {n for t in statement.targets for n in _names(t)} if isinstance(statement, ast.Assign) else None
        plain = isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name | ast.Tuple) for t in statement.targets)
        if plain and written is not None and not written & needed:
            continue
        kept.append(statement)
        needed |= _names(statement)
    result = ast.Return(ast.Tuple([last.elts[i] for i in sorted(outputs)], ast.Load()))
    return ast.FunctionDef(entry.name, entry.args, [*reversed(kept), result], [], None, None, lineno=1, col_offset=0)


def _op(name: str) -> str:
    base = name.rstrip("_") if name.endswith("_") and not name.endswith("__") else name
    in_place = "!" if base != name else ""
    plain = SAME_OP.get(base.lower(), base)
    return plain + ("~" if plain in VIEWS and not in_place else in_place)


def _subscript(node: ast.Subscript) -> str:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    view = all(isinstance(p, ast.Slice | ast.Constant | ast.UnaryOp) for p in parts)
    return "getitem~" if view else "getitem"


def _literal_class(node: ast.Call) -> str:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name not in MADE_BY:
        return ""
    if name in ("randint", "randperm"):
        return "int"
    if name in ("tensor", "arange", "full"):
        values = [n.value for a in node.args for n in ast.walk(a) if isinstance(n, ast.Constant)]
        if name == "full":
            values = [n.value for a in node.args[1:2] for n in ast.walk(a) if isinstance(n, ast.Constant)] or values
        kinds = {type(v) for v in values}
        return "bool" if kinds == {bool} else "int" if kinds and kinds <= {int, bool} else "float"
    return "float"


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [a.arg for a in function.args.args]


def _configuration_flags(verdict: Verdict) -> Iterator[str]:
    configuration = verdict.configuration
    if configuration.grad and Symptom.GRADIENT in verdict.symptoms:
        yield "+grad"
    if configuration.dynamic:
        yield "+dynamic"
    if verdict.stage is None and verdict.outcome is Outcome.ERROR:
        yield "+error"
