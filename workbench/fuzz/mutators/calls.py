"""The callable is called again after something changed: shape, layout, dtype, flags, globals, attributes, hooks. Guards have to notice."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

CHANGES = (
    ("same", "{v} + 0"),
    ("cut", "{v}[:-1]"),
    ("one_row", "{v}[:1]"),
    ("transposed", "{v}.transpose(0, -1).contiguous().transpose(0, -1)"),
    ("longer", "torch.cat([{v}, {v}])"),
    ("double", "{v}.double()"),
    ("int", "{v}.int()"),
    ("stepped", "{v}.repeat_interleave(2, 0)[::2]"),
    ("offset", "torch.cat([{v}[:1], {v}])[1:]"),
    ("grad", "{v}.clone().requires_grad_() if {v}.is_floating_point() else {v}"),
    ("negative", "-{v}"),
    ("expanded", "{v}[:1].expand_as({v})"),
    ("zeros", "torch.zeros_like({v})"),
    ("nan", "{v} * float('nan') if {v}.is_floating_point() else {v} * 0"),
    ("empty", "{v}[:0]"),
    ("parameter", "torch.nn.Parameter({v}.clone()) if {v}.is_floating_point() else {v}"),
    ("conj_like", "{v}.flip(0)"),
    ("half", "{v}.to(torch.bfloat16) if {v}.is_floating_point() else {v}"),
    ("inference", "_inference({v})"),
)
AROUND = (
    ("no_grad", "with torch.no_grad():\n        second = fn(*again)"),
    ("inference", "with torch.inference_mode():\n        second = fn(*again)"),
    ("enable_grad", "with torch.enable_grad():\n        second = fn(*again)"),
    (
        "default_dtype",
        "torch.set_default_dtype(torch.float64)\n    try:\n        second = fn(*again)\n    finally:\n        torch.set_default_dtype(torch.float32)",
    ),
    ("autocast", "with torch.autocast('cpu', dtype=torch.bfloat16, enabled=False):\n        second = fn(*again)"),
    (
        "deterministic",
        "torch.use_deterministic_algorithms(True, warn_only=True)\n    second = fn(*again)\n    torch.use_deterministic_algorithms(False)",
    ),
    ("plain", "second = fn(*again)"),
    ("plain", "second = fn(*again)"),
    ("plain", "second = fn(*again)"),
    ("default_device", "with torch.device('meta' if False else 'cpu'):\n        second = fn(*again)"),
    ("set_grad", "torch.set_grad_enabled(False)\n    second = fn(*again)\n    torch.set_grad_enabled(True)"),
    ("anomaly", "with torch.autograd.set_detect_anomaly(True):\n        second = fn(*again)"),
)


def _arguments(subject: Subject) -> list[tuple[int, Value]]:
    """Tensor parameters of the entry function with their place in ``get_inputs``."""
    if subject.entry is None:
        return []
    first = subject.entry.args.args[0].arg if subject.entry.args.args else ""
    offset = 1 if first == "self" else 0
    seen: dict[str, Value] = {}
    for v in subject.values:
        if v.position is not None and v.function in (subject.entry.name, f"Model.{subject.entry.name}") and v.kind == "Tensor":
            seen.setdefault(v.name, v)
    return [((v.position or 0) - offset, v) for v in seen.values() if (v.position or 0) >= offset]


@mutator("second_call", "second-call-other-input")
def second_call(subject: Subject, draw: Draw) -> str | None:
    """Call again with an input of another shape, layout, dtype or flag, under another mode; then a third time as at first."""
    arguments = [(i, v) for i, v in _arguments(subject) if v.rank >= 1]
    if not arguments or subject.drive is not None:
        return None
    i, v = draw.choice(arguments)
    safe = CHANGES if len(arguments) == 1 else tuple(c for c in CHANGES if c[0] not in ("cut", "one_row", "longer", "empty"))
    word, change = draw.choice([c for c in safe if v.rank >= 2 or c[0] != "transposed"])
    around, call = draw.choice(AROUND)
    code = f"def drive(fn, inputs):\n    kept = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]\n    first = fn(*inputs)\n    again = list(kept)\n    again[{i}] = {change.format(v=f'kept[{i}]')}\n    {call}\n"
    code += "    third = fn(*kept)\n    return first, second, third\n" if draw.chance(0.5) else "    return first, second\n"
    if word == "inference":
        subject.define("def _inference(t):\n    with torch.inference_mode():\n        return t.clone()\n")
    subject.set_drive(code)
    if draw.chance(0.25):
        subject.configure(dynamic=draw.chance(0.7))
    return f"{word}.{around}"


@mutator("aliased_arguments", "aliased-arguments")
def aliased_arguments(subject: Subject, draw: Draw) -> str | None:
    """The same tensor, or overlapping views, given for several arguments; with a write in the program, order matters."""
    arguments = [(i, v) for i, v in _arguments(subject) if v.rank >= 1]
    pairs = [(a, b) for a in arguments for b in arguments if a[0] < b[0] and a[1].shape == b[1].shape and a[1].dtype == b[1].dtype]
    if subject.drive is not None:
        return None
    if pairs:
        (i, v), (j, _) = draw.choice(pairs)
    elif arguments:
        i, v = draw.choice(arguments)
        name = subject.fresh("twin")
        if not subject.add_parameter(name, "None"):
            return None
        j = i if subject.entry is None else len(subject.entry.args.args) - 1 - (1 if subject.entry.args.args[0].arg == "self" else 0)
        found = next((s for s in subject.sites if v.name in s.live), None)
        if found is None:
            return None
        line = draw.choice(
            [f"{name}.add_(1)", f"{v.name}.mul_(2)\n{name}.add_({v.name})", f"{name}.copy_({v.name}.flip(0))", f"{v.name}.sub_({name} + 1)"]
        )
        subject.insert(found, line if v.dtype != "bool" else f"{name}.logical_not_()")
        subject.observe(f"{v.name} + {name}" if v.dtype != "bool" else f"{v.name} | {name}", name)
    else:
        return None
    word, text = draw.choice(
        [
            ("same", "{a}"),
            ("view", "{a}.view_as({a})"),
            ("detach", "{a}.detach()"),
            ("overlap", "{a}.as_strided({a}.shape, {a}.stride())"),
            ("flip_flop", "{a}"),
            ("slice", "{a}[:]"),
        ]
    )
    body = f"    inputs = list(inputs)\n    inputs[{j}] = {text.format(a=f'inputs[{i}]')}\n"
    twice = draw.chance(0.4)
    call = (
        "    first = fn(*[t.clone() if isinstance(t, torch.Tensor) else t for t in inputs])\n    return first, fn(*inputs), inputs\n"
        if twice
        else "    return fn(*inputs), inputs\n"
    )
    subject.set_drive(f"def drive(fn, inputs):\n{body}{call}")
    return f"{word}{'.second' if twice else ''}"


@mutator("outputs_fed_back", "outputs-fed-back")
def outputs_fed_back(subject: Subject, draw: Draw) -> str | None:
    """Write into what the first call returned, call again with the same inputs; results and inputs must not share what eager keeps apart."""
    if subject.drive is not None or not _arguments(subject):
        return None
    word, line = draw.choice(
        [
            ("add", "leaf.add_(10)"),
            ("zero", "leaf.zero_()"),
            ("mul", "leaf.mul_(3)"),
            ("copy", "leaf.copy_(leaf.flip(0) if leaf.dim() else leaf + 1)"),
        ]
    )
    code = (
        "def drive(fn, inputs):\n    first = fn(*inputs)\n    with torch.no_grad():\n        for leaf in torch.utils._pytree.tree_leaves(first):\n"
        f"            if isinstance(leaf, torch.Tensor) and leaf.dtype != torch.bool and not any(s == 0 and n > 1 for s, n in zip(leaf.stride(), leaf.shape)):\n                {line}\n"
        "    second = fn(*inputs)\n    return first, second, inputs\n"
    )
    subject.set_drive(code)
    return word


STATE = pools.items("state")


@mutator("state_between_calls", "state-changed-between-calls", compiles=False)
def state_between_calls(subject: Subject, draw: Draw) -> str | None:
    """Python state that the program reads is changed between two calls."""
    if subject.drive is not None or not _arguments(subject):
        return None
    found = subject.pick(draw, lambda v: v.numeric and v.dtype != "uint8")
    if found is None:
        return None
    site, v = found
    word, setup, use, change = draw.choice(STATE)
    r = subject.fresh("seen")
    subject.define(setup)
    subject.insert(site, use.format(v=v.name, r=r))
    subject.observe(r)
    lines = change.splitlines()
    heads = "".join(f"    {line}\n" for line in lines if line.startswith("global"))
    rest = "".join(f"    {line}\n" for line in lines if not line.startswith("global"))
    subject.set_drive(
        f"def drive(fn, inputs):\n{heads}    kept = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]\n    first = fn(*inputs)\n{rest}    second = fn(*kept)\n    return first, second\n"
    )
    return word
