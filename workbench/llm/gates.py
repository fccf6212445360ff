"""What an answer has to pass before a program of it is compiled: gates in order, each with a word for the store and a line for a repair turn.

They keep programs on topic; they are no sandbox. What passes is run in profile untrusted like everything generated.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace

from store.records import Configuration, Program, canonical
from store.syntax import parse
from workbench.errors import ProgramError
from workbench.fuzz.tracing import Runner, facts_of
from workbench.llm import answers, sameness, traits
from workbench.programs import parse_block, write_block
from workbench.signature import skeleton

REPAIRABLE = frozenset({"fence", "syntax", "contract", "imports", "eager"})
"""Gates after which the model is shown the problem; the others say that it had no better idea."""
VALID = "valid"
REFUSALS = frozenset({"RuntimeError", "ValueError", "IndexError", "NotImplementedError"})
"""How an op says that it does not take its arguments; a name that is not there is a mistake of the answer."""
MODULES = frozenset(
    {
        "torch", "math", "cmath", "functools", "itertools", "collections", "dataclasses", "typing", "operator", "contextlib", "enum", "copy",
        "abc", "types", "weakref", "numbers", "string", "re", "random", "numpy", "__future__", "warnings", "fractions", "decimal", "heapq",
        "bisect", "array", "struct",
    }
)  # fmt: skip
REFUSED_MODULES = (
    "torch._dynamo", "torch._inductor", "torch.compiler", "torch.utils.cpp_extension", "torch.distributed", "torch.multiprocessing",
    "torch.hub", "torch.package", "torch.jit", "torch.onnx", "torch.export",
)  # fmt: skip
REFUSED_NAMES = frozenset({"open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "exit", "quit", "globals", "print"})
REFUSED_ATTRIBUTES = frozenset(
    {
        "is_compiling", "is_dynamo_compiling", "is_exporting", "load_library", "__subclasses__", "__globals__", "__builtins__", "__loader__",
        "get_file_path", "manual_seed_all", "save", "load",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Context:
    """What an answer is held against.

    known:     identities (``identity``) of programs that need no second run: the seed, the example, earlier answers
    raises_ok: eager may raise: the characteristic is about errors
    """

    characteristic: str
    seed: Program
    known: Collection[str]
    raises_ok: bool = False


@dataclass(frozen=True, slots=True)
class Gated:
    """What came of an answer. ``outcome``: ``valid``, or the gate that stopped it; ``problem``: one line, also for the model.

    source: the text as far as it got, for a repair turn
    """

    outcome: str
    problem: str = ""
    program: Program | None = None
    mends: tuple[str, ...] = ()
    source: str = ""
    raises: bool = False

    @property
    def valid(self) -> bool:
        return self.outcome == VALID


def gate(answer: str, finish: str, context: Context, runner: Runner) -> Gated:
    """All gates in order; the last runs the program in eager, untrusted."""
    found = read(answer, finish, context)
    if not found.valid or found.program is None:
        return found
    facts = facts_of(runner, found.program)
    if facts.returned:
        return found
    if facts.outcome == "raised" and context.raises_ok and facts.why.partition(":")[0] in REFUSALS:
        return replace(found, raises=True)
    return replace(found, outcome="eager", problem=f"plain PyTorch does not run it ({facts.outcome}): {facts.why}"[:300])


def read(answer: str, finish: str, context: Context) -> Gated:
    """The gates that read: shape, finish_reason, fence, parse, contract, imports, sameness, signs of the characteristic."""
    try:
        return _read(answer, finish, context)
    except RecursionError:
        return Gated("syntax", "it is nested too deeply")


def _read(answer: str, finish: str, context: Context) -> Gated:
    if not answer.strip():
        return Gated("empty", "the answer is empty")
    if finish == "length":
        return Gated("truncated", "the answer was cut off")
    if finish != "stop":
        return Gated("finish", f"the answer ended with {finish or 'no finish_reason'}")
    text = answers.program_in(answer)
    if text is None:
        return Gated("fence", "there is no program in a ```python block", source=answer.strip()[:2000])
    mended, tree, stopped = usable(text, context.seed.source)
    if stopped is not None or tree is None:
        return stopped or Gated("syntax")
    program = _program(mended.source, text, context.seed)
    if identity(program) in context.known:
        return Gated("duplicate", "it is the seed, the example or an earlier answer", program, mended.mends, program.source)
    missing = traits.lacking(context.characteristic, tree, answers.parsed(context.seed.source))
    if missing:
        return Gated(
            "characteristic",
            f"no sign of the characteristic: {'; '.join(map(traits.in_words, missing))}"[:300],
            program,
            mended.mends,
            program.source,
        )
    return Gated(VALID, "", program, mended.mends, program.source)


def usable(text: str, seed: str) -> tuple[answers.Mended, ast.Module | None, Gated | None]:
    """A text after mending, its tree, and the gate of parsing, contract and imports that stopped it, if one did."""
    mended = answers.mend(text, seed)
    tree = answers.parsed(mended.source)
    if tree is None:
        return mended, None, Gated("syntax", _syntax(mended.source), mends=mended.mends, source=mended.source)
    for name, check in (("contract", _contract), ("imports", refused)):
        problem = check(tree)
        if problem:
            return mended, tree, Gated(name, problem, mends=mended.mends, source=mended.source)
    return mended, tree, None


def identity(program: Program) -> str:
    """Equal for programs that differ in names, layout and comments only, under the same configuration."""
    return f"{sameness.digest(program.source)} {canonical(program.configuration.non_default())}"


def added(program: Program, seed: Program) -> tuple[str, ...]:
    """Ops and structure that a program has and its seed has not, sorted: what the answer did, in short."""
    return tuple(sorted(set(skeleton(program.source)) - set(skeleton(seed.source))))


def _syntax(source: str) -> str:
    try:
        parse(source)
    except SyntaxError as error:
        return f"syntax error in line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"Python does not read it: {error}"
    return "Python does not read it"


def _contract(tree: ast.Module) -> str:
    defined = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef | ast.ClassDef)}
    bound = {t.id for s in tree.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    if "fn" not in defined and "fn" not in bound:
        model = defined.get("Model")
        if not isinstance(model, ast.ClassDef):
            return "it defines neither fn nor Model"
        if not any(isinstance(s, ast.FunctionDef) and s.name == "forward" for s in model.body):
            return "Model has no forward"
    if not isinstance(defined.get("get_inputs"), ast.FunctionDef):
        return "it defines no get_inputs()"
    maker = defined["get_inputs"]
    assert isinstance(maker, ast.FunctionDef)
    if maker.args.args and len(maker.args.args) > len(maker.args.defaults):
        return "get_inputs() must take no arguments"
    drive = defined.get("drive")
    if isinstance(drive, ast.FunctionDef) and len(drive.args.args) != 2:
        return "drive takes exactly (fn, inputs)"
    if not any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(maker)):
        return "get_inputs() returns nothing"
    return ""


def refused(tree: ast.Module) -> str:
    """What the text imports or calls that has no place in a program; empty: nothing."""
    own = {s.name for s in ast.walk(tree) if isinstance(s, ast.FunctionDef | ast.ClassDef)}
    for node in ast.walk(tree):
        named: list[str] = []
        if isinstance(node, ast.Import):
            named = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            named = [f"{node.module or ''}.{a.name}" for a in node.names]
        elif isinstance(node, ast.Attribute):
            dotted = ast.unparse(node) if _plain(node) else ""
            if any(dotted == m for m in REFUSED_MODULES) or dotted == "torch.compile":
                return f"{dotted} has no place in the program; the harness compiles it"
            if node.attr in REFUSED_ATTRIBUTES:
                return f"{node.attr} has no place in the program"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in REFUSED_NAMES - own:
            return f"{node.id} has no place in the program"
        for name in named:
            if name.partition(".")[0] not in MODULES or any(name == m or name.startswith(f"{m}.") for m in REFUSED_MODULES):
                return f"it imports {name}; only torch and plain parts of the standard library may be imported"
    return ""


def _plain(node: ast.Attribute) -> bool:
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and value.id == "torch"


def _program(source: str, answered: str, seed: Program) -> Program:
    """The program under the seed's configuration, with what the answer's own block says about how to compile; not where, or by which backend.

    answered: the text before mending, which may have dropped comments, and with them the block
    """
    try:
        said = parse_block(answered).non_default()
    except ProgramError:
        said, source = {}, source.replace("# /// workbench", "#")
    kept = {k: v for k, v in said.items() if k in ("mode", "dynamic", "fullgraph", "grad")}
    configuration: Configuration = seed.configuration.with_(**kept)
    return Program(write_block(source, configuration), configuration, seed.name)
