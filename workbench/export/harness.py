"""The check below the program in a repro: runs it eager and compiled, compares, exits 1 when they disagree. Text only; nothing runs here.

Two styles. *lean* compares with ``torch.testing.assert_close``: what a person would write. *anew* looks at everything that the symptoms
name, leaf by leaf. Programs that keep state are executed a second time, as a module, so that eager and compiled share nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from store.records import Configuration, Symptom
from workbench.export.form import SWITCHES, Form

BACKEND_VARIABLE = "REPRO_BACKEND"
"""The environment variable that chooses a repro's backend."""

MARK = "MISMATCH"
"""The word that a repro prints when it exits 1 for the mismatch, so that a traceback is not taken for it."""

RAISES = frozenset({Symptom.MISSING_ERROR, Symptom.EXCEPTION})
TENSORS = frozenset({Symptom.VALUE, Symptom.NAN, Symptom.DTYPE, Symptom.SHAPE, Symptom.DEVICE, Symptom.STRIDE})
LEAN = TENSORS | RAISES | {Symptom.MUTATION, Symptom.GRADIENT}
"""Symptoms that ``assert_close`` over tensors, or whether an exception comes, can show."""


@dataclass(frozen=True, slots=True)
class Check:
    """What the check has to do.

    sections:     what is compared: ``return inputs parameters buffers gradients globals``
    global_names: the program's globals that are compared
    threads:      set the number of threads even when it is one
    clone:        gradients flow through non-leaf clones of the inputs, for programs that write into them
    """

    form: Form
    configuration: Configuration
    symptoms: frozenset[Symptom]
    sections: frozenset[str]
    global_names: tuple[str, ...] = ()
    threads: bool = False
    clone: bool = False


def lean(check: Check) -> str:
    """The check in its plainest form, for the symptoms in ``LEAN``; a program that keeps state is executed anew."""
    compare = _COMPARE_RAISES if check.symptoms & RAISES else _COMPARE_CLOSE
    load = [] if check.form.stateless else [*_LOAD, "", ""]
    return "\n".join([*_head(check), *load, *_lean_run(check), "", "", *_main(compare)])


def anew(check: Check) -> str:
    """The check that executes the file a second time and compares leaf by leaf."""
    parts = [*_head(check), *_LOAD, "", "", *_walk(check), "", ""]
    if Symptom.ALIAS in check.symptoms:
        parts += [*_ALIASES, "", ""]
    return "\n".join([*parts, *_anew_run(check), "", "", *_SAME, "", "", *_main(_COMPARE_LEAVES)])


def _lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def _head(check: Check) -> list[str]:
    configuration = check.configuration
    lines = [f'backend = os.environ.get("{BACKEND_VARIABLE}", {_quoted(configuration.backend)})']
    if check.threads or configuration.threads != 1:
        lines.append(f"torch.set_num_threads({configuration.threads})")
    if configuration.device != "cpu":
        lines.append(f"torch.set_default_device({_quoted(configuration.device)})")
    for table, patches in (("_inductor", configuration.inductor), ("_dynamo", configuration.dynamo)):
        if patches:
            lines.append(f"import torch.{table}.config")
            lines += [f"torch.{table}.config.{key} = {value!r}" for key, value in sorted(patches.items())]
    return [*lines, "", ""]


def _switches(check: Check) -> list[str]:
    """Lines that put back what the program leaves switched: the compiled run begins as the eager one did."""
    device = check.configuration.device
    defaults = {**SWITCHES, "set_default_device": "None" if device == "cpu" else _quoted(device)}
    return [f"    torch.{name}({defaults[name]})" for name in check.form.sets]


def _seeding(check: Check) -> list[str]:
    seed = check.configuration.seed
    lines = [f"    torch.manual_seed({seed})"]
    lines += [f"    random_module.seed({seed})"] if check.form.random else []
    return lines + ([f"    numpy_module.random.seed({seed})"] if check.form.numpy else [])


def _compile(check: Check) -> str:
    """The expression that compiles ``target`` as the configuration says."""
    configuration = check.configuration
    arguments = ["target", "backend=backend"]
    if configuration.mode != "default":
        arguments.append(f'mode={_quoted(configuration.mode)} if backend == "inductor" else None')
    if configuration.dynamic is not None:
        arguments.append(f"dynamic={configuration.dynamic}")
    if configuration.fullgraph:
        arguments.append("fullgraph=True")
    return f"torch.compile({', '.join(arguments)})"


def _build(check: Check, prefix: str) -> list[str]:
    """Lines that make ``target``, ``inputs`` and ``call`` out of the program's names."""
    init = f"*{prefix}get_init_inputs()" if check.form.init else ""
    made = f"{prefix}fn" if check.form.callable == "fn" else f"{prefix}Model({init})"
    lines = [f"    target = {made}", f"    inputs = {prefix}get_inputs()"]
    if check.configuration.grad:
        lines += _LEAVES + (_CLONE if check.clone else [])
    return [*lines, f"    call = {_compile(check)} if compiled else target"]


_GRADIENTS = '[x.grad for x in [*tree_leaves(inputs), *getattr(target, "parameters", list)()] if isinstance(x, torch.Tensor)]'

_LEAVES = _lines("""
    leaves = [x for x in tree_leaves(inputs) if isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())]
    if not any(x.requires_grad for x in leaves):
        for x in leaves:
            x.requires_grad_()
    parameters = list(getattr(target, "parameters", list)())
""")

_CLONE = _lines("""
    inputs = tree_map(lambda x: x.clone() if isinstance(x, torch.Tensor) and x.requires_grad else x, inputs)
""")

_BACKWARD = _lines("""
    outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    weights = [torch.linspace(0.5, 1.5, t.numel()).to(t).reshape(t.shape) for t in outputs]
    torch.autograd.backward(outputs, weights)
""")


def _exercise(check: Check, prefix: str) -> list[str]:
    """Lines that run ``call`` and leave ``result`` behind."""
    call = f"{prefix}drive(call, inputs)" if check.form.drive else "call(*inputs)"
    return [f"    result = {call}", *(_BACKWARD if check.configuration.grad else [])]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _sections(check: Check, dictionary: str) -> dict[str, str]:
    """The expression of each section that is compared; the return value when none is named."""
    known = {"return": "result", "inputs": "inputs"}
    known["gradients"] = "[x.grad for x in leaves + parameters]" if check.configuration.grad else _GRADIENTS
    if check.form.callable == "Model" or dictionary:
        known["parameters"] = f"dict({dictionary or 'target.named_parameters'}())".replace("NAMES", "named_parameters")
        known["buffers"] = f"dict({dictionary or 'target.named_buffers'}())".replace("NAMES", "named_buffers")
    return {name: known[name] for name in known if name in check.sections}


def _lean_run(check: Check) -> list[str]:
    prefix = "" if check.form.stateless else "program."
    lines = ["def run(compiled):", *_switches(check), *_seeding(check)] + ([] if check.form.stateless else ["    program = load()"])
    lines += [*_build(check, prefix), *_seeding(check)]
    if check.symptoms & RAISES:
        return [*lines, "    try:", *_indented(_exercise(check, prefix)), *_RAISED]
    lines += _exercise(check, prefix)
    seen = _sections(check, "") or {"return": "result"}
    if list(seen) == ["return"]:
        return [*lines, "    return result"]
    return [*lines, "    return {" + ", ".join(f'"{name}": {value}' for name, value in seen.items()) + "}"]


_RAISED = _lines("""
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    return "returns"
""")

_COMPARE_RAISES = _lines(f"""
    print("eager:   ", eager)
    print("compiled:", compiled)
    if eager.startswith("raises") != compiled.startswith("raises"):
        print("{MARK}: one raises and the other does not")
        return 1
""")

_COMPARE_CLOSE = _lines(f"""
    print("eager:   ", eager)
    print("compiled:", compiled)
    try:
        torch.testing.assert_close(compiled, eager, equal_nan=True)
    except AssertionError as error:
        print("{MARK}:", error)
        return 1
""")

_COMPARE_LEAVES = _lines(f"""
    wrong = [name for name in {{**eager, **compiled}} if not same(eager.get(name), compiled.get(name))]
    for name in wrong:
        print(f"{{name}}\\n  eager:    {{eager.get(name)}}\\n  compiled: {{compiled.get(name)}}")
    if wrong:
        print("{MARK}:", ", ".join(wrong))
        return 1
""")


def _main(compare: list[str]) -> list[str]:
    return [*_MAIN[:3], *compare, *_MAIN[3:]]


_MAIN = _lines("""
def main():
    torch.set_printoptions(threshold=64)
    eager, compiled = run(compiled=False), run(compiled=True)
    print("eager and compiled agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
""")

_LOAD = _lines('''
def load():
    """The program above, executed anew: eager and compiled share no inputs and no state."""
    module = types.ModuleType("program")
    module.__file__ = __file__
    sys.modules["program"] = module
    with open(__file__) as file:
        exec(compile(file.read(), __file__, "exec"), module.__dict__)
    return module
''')

_WALK = _lines('''
def walk(name, value, seen):
    """Flatten ``value`` into ``seen``: name of each leaf -> tensor, number or text."""
    if isinstance(value, torch.Tensor):
        seen[name] = value.detach().clone()
    elif isinstance(value, dict):
        seen[f"{name} keys"] = [type(value).__name__, *map(str, value)]
        for key, inner in value.items():
            walk(f"{name}[{key!r}]", inner, seen)
    elif isinstance(value, (list, tuple)):
        seen[f"{name} length"] = [type(value).__name__, len(value)]
        for index, inner in enumerate(value):
            walk(f"{name}[{index}]", inner, seen)
    elif hasattr(value, "__dict__") and not callable(value):
        walk(f"{name}.{type(value).__name__}", vars(value), seen)
    elif isinstance(value, (bool, int, float, complex, str, bytes, torch.dtype)):
        seen[name] = value
    else:
        seen[name] = type(value).__name__
''')


def _walk(check: Check) -> list[str]:
    if Symptom.REQUIRES_GRAD not in check.symptoms:
        return _WALK
    return [*_WALK[:4], '        seen[f"{name} requires_grad"] = value.requires_grad', *_WALK[4:]]


_SAME = _lines("""
def same(eager, compiled):
    if isinstance(eager, (torch.Tensor, float, complex)):
        try:
            torch.testing.assert_close(compiled, eager, equal_nan=True)
        except (AssertionError, TypeError):
            return False
        return True
    return type(eager) is type(compiled) and repr(eager) == repr(compiled)
""")

_ALIASES = _lines('''
def aliases(result, inputs):
    """Pairs of tensors where writing into the first changes the second."""
    found = {}
    for name, tree in (("return", result), ("inputs", inputs)):
        for path, leaf in tree_flatten_with_path(tree)[0]:
            if isinstance(leaf, torch.Tensor):
                found[name + keystr(path)] = leaf.detach()
    pairs = set()
    for name, tensor in found.items():
        for fill in (0, 1):
            before = {other: t.clone() for other, t in found.items()}
            tensor.fill_(fill)
            pairs |= {f"{name} -> {other}" for other, t in found.items() if other != name and not torch.equal(t, before[other])}
    return sorted(pairs)
''')

_RANDOM = '    seen["random state"] = torch.get_rng_state()'
_PYTHON_RANDOM = '    seen["random state of Python"] = repr(random_module.getstate())'
_MODES = _lines("""
    seen["modes"] = [torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.get_default_dtype()]
""")
_ANY_RAISE = _lines("""
        seen["raises"] = False
    except Exception:
        seen["raises"] = True
""")


def _anew_run(check: Check) -> list[str]:
    lines = ["def run(compiled):", "    torch._dynamo.reset()", *_switches(check), *_seeding(check), "    program = load()"]
    lines += [*_build(check, "program."), *_seeding(check), "    seen = {}"]
    exercise = _exercise(check, "program.")
    if check.symptoms & RAISES:
        return [*lines, "    try:", *_indented(exercise), *_ANY_RAISE, "    return seen"]
    lines += exercise
    if Symptom.RNG in check.symptoms:
        lines += [_RANDOM, *([_PYTHON_RANDOM] if check.form.random else [])]
    if Symptom.MODES in check.symptoms:
        lines += _MODES
    seen = _sections(check, 'getattr(target, "NAMES", dict)') | {f"global {name}": f"program.{name}" for name in check.global_names}
    if not seen and not check.symptoms & {Symptom.RNG, Symptom.MODES, Symptom.ALIAS}:
        seen = {"return": "result"}
    lines += [f'    walk("{name}", {value}, seen)' for name, value in seen.items()]
    if Symptom.ALIAS in check.symptoms:
        lines.append('    seen["aliases"] = aliases(result, inputs)')
    return [*lines, "    return seen"]


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
