"""Action ``capture``: the graphs below Dynamo as straight-line programs over plain tensors, and windows of them over recorded values.

A recording backend sees every graph with its real arguments (not ``export`` or ``explain``). Each graph becomes one program file in harness
form; nothing is judged here.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from . import asserts, configuration, testcase
from .exercise import execute
from .intercept import Interceptor
from .literals import Unwritable, argument_text, index_text, tensor_text
from .program import prepare, seed_everything
from .protocol import Request
from .script import may_be_script

BACKEND = "workbench_capture"
MOST_GRAPHS = 4
"""Graphs of one program that are worded, the largest first."""
INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//", operator.mod: "%",
    operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<",
    operator.rshift: ">>", operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
IN_PLACE = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=", operator.ifloordiv: "//=", operator.imod: "%=",
    operator.ipow: "**=", operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=",
}  # fmt: skip
PREFIX = {operator.neg: "-", operator.invert: "~", operator.pos: "+"}


@dataclasses.dataclass(slots=True)
class Graph:
    """One captured graph with the arguments of its first call (tensors cloned before anything was written into them)."""

    module: torch.fx.GraphModule
    arguments: list[Any]


def handle(request: Request) -> tuple[dict[str, Any], bytes]:
    """``texts``: program files, best first. ``options``: {"windows": true} gives windows of the largest graph instead, smallest first."""
    configuration.apply(request)
    graphs = _captured(request)
    graphs.sort(key=lambda g: -len(g.module.graph.nodes))
    texts: list[str] = []
    for graph in graphs[:MOST_GRAPHS]:
        texts += _windows(graph) if request.options.get("windows") else _whole(graph)
        if request.options.get("windows"):
            break
    return {"texts": list(dict.fromkeys(texts)), "graphs": len(graphs)}, b""


def _captured(request: Request) -> list[Graph]:
    graphs: list[Graph] = []

    def backend(module: torch.fx.GraphModule, _: list[torch.Tensor]) -> Any:
        def call(*arguments: Any) -> Any:
            if all(g.module is not module for g in graphs):
                graphs.append(Graph(module, _kept(arguments)))
            return module.forward(*arguments)

        return call

    torch._dynamo.register_backend(backend, name=BACKEND)
    ours = dataclasses.replace(request, backend=BACKEND)
    if request.options.get("test") or may_be_script(request.source):
        _run_script(dataclasses.replace(ours, options={**request.options, "override": ["backend"]}))
    else:
        execute(ours, request.leaf)
    return graphs


class _Deaf:
    """Listens to nothing."""

    def begin(self, *_: Any) -> None: ...

    def returned(self, *_: Any) -> None: ...

    def raised(self, *_: Any) -> None: ...

    def backward(self) -> None: ...

    def gradients(self, *_: Any) -> None: ...


def _run_script(request: Request) -> None:
    """A script, or one test of a test file, with our backend in the place of its own, its asserts out of the way; what it raises ends it."""
    seed_everything(int(request.configuration.get("seed", 0)))
    tree = asserts.without(ast.parse(request.source))
    test = str(request.options.get("test") or "")
    name = "__workbench_test__" if test else "__main__"
    code, module = prepare(request.source, request.filename, request.folder, request.argv, name, tree)
    with contextlib.suppress(BaseException), Interceptor(request, _Deaf()), asserts.told_only():
        exec(code, vars(module))
        if test:
            testcase.run(module, test)


def _kept(arguments: Sequence[Any]) -> list[Any]:
    """Clones that share memory with each other where the originals do."""
    storages: dict[int, torch.UntypedStorage] = {}

    def clone(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return value
        storage = value.untyped_storage()
        if storage.data_ptr() not in storages:
            storages[storage.data_ptr()] = torch.empty(0, dtype=torch.uint8).set_(storage).clone().untyped_storage()
        copy = storages[storage.data_ptr()]
        made = torch.empty(0, dtype=value.dtype).set_(copy, value.storage_offset(), value.shape, value.stride())
        return made.requires_grad_() if value.requires_grad else made

    return [clone(a) for a in arguments]


def _whole(graph: Graph) -> list[str]:
    """The graph with random stand-ins for large inputs, then with all values written out."""
    holders = [n for n in graph.module.graph.nodes if n.op == "placeholder"]
    inputs = dict(zip(holders, graph.arguments, strict=True))
    body = [n for n in graph.module.graph.nodes if n.op not in ("placeholder", "output")]
    results = _results(graph.module)
    texts = []
    for exact in (False, True):
        try:
            texts.append(_program(graph.module, inputs, body, results, exact=exact))
        except Unwritable:
            continue
    return texts


def _results(module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    output = next(n for n in module.graph.nodes if n.op == "output")
    return [n for n in _flat(output.args[0]) if isinstance(n, torch.fx.Node)]


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _windows(graph: Graph) -> list[str]:
    """The last 1, 2, 4, ... nodes over the values that eager gave to what comes before them."""
    values = _recorded(graph)
    body = [n for n in graph.module.graph.nodes if n.op in ("call_function", "call_method")]
    results = _results(graph.module)
    texts = []
    size = 1
    while size < len(body):
        window = body[-size:]
        inside = set(window)
        needed = [n for n in graph.module.graph.nodes if n not in inside and any(u in inside for u in n.users) and n.op != "get_attr"]
        constants = [n for n in graph.module.graph.nodes if n.op == "get_attr" and any(u in inside for u in n.users)]
        try:
            inputs = {n: values[n] for n in needed}
            texts.append(_program(graph.module, inputs, [*constants, *window], [r for r in results if r in inside], exact=False))
        except (Unwritable, KeyError):
            pass
        size *= 2
    return texts


def _recorded(graph: Graph) -> dict[torch.fx.Node, Any]:
    """Every value of an eager run, as it was when it was made."""
    values: dict[torch.fx.Node, Any] = {}

    class Recording(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            values[node] = _kept([result])[0]
            return result

    try:
        Recording(graph.module).run(*_kept(graph.arguments))
    except Exception:
        return values  # what was recorded until then still serves
    return values


def _program(
    module: torch.fx.GraphModule,
    inputs: dict[torch.fx.Node, Any],
    body: Sequence[torch.fx.Node],
    results: Sequence[torch.fx.Node],
    *,
    exact: bool,
) -> str:
    """A program file whose ``fn`` runs ``body`` over ``inputs``."""
    writer = _Writer(module)
    made = writer.inputs(inputs, exact=exact)
    for node in body:
        writer.node(node)
    writer.say("return " + ", ".join(writer.names[r] for r in results))
    parameters = ", ".join(name for name, _ in made)
    lines = ["import torch", "", *writer.constants, f"def fn({parameters}):", *writer.lines, "", "def get_inputs():", *writer.makers]
    return "\n".join([*lines, "    return [" + ", ".join(text for _, text in made) + "]", ""])


class _Writer:
    """Words nodes as statements of ``fn``."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        self.module = module
        self.names: dict[Any, str] = {}
        self.lines: list[str] = []
        self.makers: list[str] = []
        self.constants: list[str] = []
        self.depth = 1

    def say(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def inputs(self, inputs: dict[torch.fx.Node, Any], *, exact: bool) -> list[tuple[str, str]]:
        """Parameters with the expressions that make them; sizes are read off the tensors or written as they were."""
        made: list[tuple[str, str]] = []
        sizes: list[tuple[torch.fx.Node, Any]] = []
        bases = self._bases(inputs, exact=exact)
        for node, value in inputs.items():
            self.names[node] = node.name
            if isinstance(value, torch.Tensor):
                made.append((node.name, bases.get(node) or tensor_text(value, exact=exact)))
            elif isinstance(value, tuple | list):
                made.append((node.name, f"({''.join(tensor_text(v, exact=exact) + ', ' for v in value)})"))
            elif isinstance(value, int | torch.SymInt):
                sizes.append((node, value))
            else:
                raise Unwritable(f"an input of type {type(value).__name__}")
        for node, value in sizes:
            self.say(f"{node.name} = {self._size(node, int(value), inputs)}")
        return made

    def _bases(self, inputs: dict[torch.fx.Node, Any], *, exact: bool) -> dict[torch.fx.Node, str]:
        """Inputs that share memory, as views of one base."""
        groups: dict[int, list[torch.fx.Node]] = {}
        for node, value in inputs.items():
            if isinstance(value, torch.Tensor) and value.layout is torch.strided and value.numel():
                groups.setdefault(value.untyped_storage().data_ptr(), []).append(node)
        texts: dict[torch.fx.Node, str] = {}
        for group in groups.values():
            if len(group) < 2:
                continue
            first = inputs[group[0]]
            count = first.untyped_storage().nbytes() // first.element_size()
            name = f"base{len(self.makers)}"
            whole = first.detach().as_strided((count,), (1,), 0)
            self.makers.append(f"    {name} = {tensor_text(whole, exact=exact)}")
            for node in group:
                value = inputs[node]
                if value.dtype is not first.dtype:
                    raise Unwritable("inputs of two dtypes over one memory")
                texts[node] = f"{name}.as_strided({tuple(value.shape)}, {tuple(value.stride())}, {value.storage_offset()})"
        return texts

    def _size(self, node: torch.fx.Node, value: int, inputs: dict[torch.fx.Node, Any]) -> str:
        """``x.shape[0]`` where a tensor has that symbol there, else the number."""
        wanted = str(node.meta.get("example_value", ""))
        for other, tensor in inputs.items():
            example = other.meta.get("example_value")
            if isinstance(tensor, torch.Tensor) and isinstance(example, torch.Tensor):
                for dim, size in enumerate(example.shape):
                    if str(size) == wanted and int(tensor.shape[dim]) == value:
                        return f"{other.name}.shape[{dim}]"
        return str(value)

    def node(self, node: torch.fx.Node) -> None:
        self.names[node] = node.name
        if node.op == "get_attr":
            self._constant(node)
        elif node.op == "call_method":
            receiver, *rest = node.args
            self.say(f"{node.name} = {argument_text(receiver, self.names)}.{node.target}({self._arguments(rest, node.kwargs)})")
        elif node.op == "call_function":
            self._function(node)
        else:
            raise Unwritable(f"a node of kind {node.op}")

    def _constant(self, node: torch.fx.Node) -> None:
        value: Any = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise Unwritable(f"a constant of type {type(value).__name__}")
        if value.numel() <= 16:
            self.say(f"{node.name} = {tensor_text(value, exact=True)}")
        else:
            self.constants += [f"{node.name} = {tensor_text(value, exact=True)}", ""]

    def _function(self, node: torch.fx.Node) -> None:
        target, args = node.target, node.args
        if self._mode(node):
            return
        if target in IN_PLACE and len(args) == 2:
            left, right = (argument_text(a, self.names) for a in args)
            self.say(f"{left} {IN_PLACE[target]} {right}")
            self.names[node] = left
        elif target is operator.setitem:
            self.say(f"{argument_text(args[0], self.names)}[{index_text(args[1], self.names)}] = {argument_text(args[2], self.names)}")
        elif target is operator.getitem:
            self.say(f"{node.name} = {argument_text(args[0], self.names)}[{index_text(args[1], self.names)}]")
        elif target in INFIX and len(args) == 2:
            left, right = (argument_text(a, self.names) for a in args)
            self.say(f"{node.name} = {left} {INFIX[target]} {right}")
        elif target in PREFIX:
            self.say(f"{node.name} = {PREFIX[target]}{argument_text(args[0], self.names)}")
        else:
            self.say(f"{node.name} = {function_name(target)}({self._arguments(args, node.kwargs)})")

    def _mode(self, node: torch.fx.Node) -> bool:
        """Grad mode and autocast regions as ``with`` blocks."""
        name = getattr(node.target, "__name__", "")
        if name == "_set_grad_enabled":
            if node.args[0]:
                self.depth = max(1, self.depth - 1)
            else:
                self.say("with torch.no_grad():")
                self.depth += 1
            return True
        if name == "_enter_autocast":
            device, dtype, enabled, _ = node.args
            given = [repr(device), *([f"dtype={dtype}"] if dtype is not None else []), *([] if enabled else ["enabled=False"])]
            self.say(f"with torch.autocast({', '.join(given)}):")
            self.depth += 1
            return True
        if name == "_exit_autocast":
            self.depth = max(1, self.depth - 1)
            return True
        return False

    def _arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
        kept = {k: v for k, v in kwargs.items() if not (k == "device" and str(v) == "cpu")}
        return ", ".join([*(argument_text(a, self.names) for a in args), *(f"{k}={argument_text(v, self.names)}" for k, v in kept.items())])


def function_name(target: Any) -> str:
    """A public dotted path that leads to this very function; Unwritable where there is none."""
    name = getattr(target, "__name__", "")
    for path in (f"torch.{name}", f"torch.nn.functional.{name}", f"torch.special.{name}", f"torch.linalg.{name}", f"torch.fft.{name}"):
        if _at(path) is target:
            return path
    for path in (f"torch.nn.functional.{name}", f"torch.{name}", torch.fx.node._get_qualified_name(target) if callable(target) else ""):
        found = _at(path)
        if found is target or (found is not None and getattr(target, "__module__", None) in ("torch._C._nn", "torch.nn.functional")):
            return path
    raise Unwritable(f"no name for {target}")


def _at(path: str) -> Any:
    value: Any = torch
    parts = path.split(".")
    if parts[0] != "torch":
        return None
    for part in parts[1:]:
        value = getattr(value, part, None)
    return value
