"""The callable is called again after something changed: shape, layout, dtype, flags, globals, attributes, hooks. Guards have to notice."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.values import Value

CHANGES = (
    ("same", "{v} + 0"), ("cut", "{v}[:-1]"), ("one_row", "{v}[:1]"), ("transposed", "{v}.transpose(0, -1).contiguous().transpose(0, -1)"), ("longer", "torch.cat([{v}, {v}])"), ("double", "{v}.double()"), ("int", "{v}.int()"), ("stepped", "{v}.repeat_interleave(2, 0)[::2]"), ("offset", "torch.cat([{v}[:1], {v}])[1:]"),
    ("grad", "{v}.clone().requires_grad_() if {v}.is_floating_point() else {v}"), ("negative", "-{v}"), ("expanded", "{v}[:1].expand_as({v})"), ("zeros", "torch.zeros_like({v})"), ("nan", "{v} * float('nan') if {v}.is_floating_point() else {v} * 0"), ("empty", "{v}[:0]"), ("parameter", "torch.nn.Parameter({v}.clone()) if {v}.is_floating_point() else {v}"), ("conj_like", "{v}.flip(0)"),
    ("half", "{v}.to(torch.bfloat16) if {v}.is_floating_point() else {v}"), ("inference", "_inference({v})"),
)  # fmt: skip
AROUND = (
    ("no_grad", "with torch.no_grad():\n        second = fn(*again)"), ("inference", "with torch.inference_mode():\n        second = fn(*again)"), ("enable_grad", "with torch.enable_grad():\n        second = fn(*again)"), ("default_dtype", "torch.set_default_dtype(torch.float64)\n    try:\n        second = fn(*again)\n    finally:\n        torch.set_default_dtype(torch.float32)"),
    ("autocast", "with torch.autocast('cpu', dtype=torch.bfloat16, enabled=False):\n        second = fn(*again)"), ("deterministic", "torch.use_deterministic_algorithms(True, warn_only=True)\n    second = fn(*again)\n    torch.use_deterministic_algorithms(False)"), ("plain", "second = fn(*again)"), ("plain", "second = fn(*again)"), ("plain", "second = fn(*again)"),
    ("default_device", "with torch.device('meta' if False else 'cpu'):\n        second = fn(*again)"), ("set_grad", "torch.set_grad_enabled(False)\n    second = fn(*again)\n    torch.set_grad_enabled(True)"), ("anomaly", "with torch.autograd.set_detect_anomaly(True):\n        second = fn(*again)"),
)  # fmt: skip


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
        line = draw.choice([f"{name}.add_(1)", f"{v.name}.mul_(2)\n{name}.add_({v.name})", f"{name}.copy_({v.name}.flip(0))", f"{v.name}.sub_({name} + 1)"])
        subject.insert(found, line if v.dtype != "bool" else f"{name}.logical_not_()")
        subject.observe(f"{v.name} + {name}" if v.dtype != "bool" else f"{v.name} | {name}", name)
    else:
        return None
    word, text = draw.choice(
        [("same", "{a}"), ("view", "{a}.view_as({a})"), ("detach", "{a}.detach()"), ("overlap", "{a}.as_strided({a}.shape, {a}.stride())"), ("flip_flop", "{a}"), ("slice", "{a}[:]")]
    )
    body = f"    inputs = list(inputs)\n    inputs[{j}] = {text.format(a=f'inputs[{i}]')}\n"
    twice = draw.chance(0.4)
    call = "    first = fn(*[t.clone() if isinstance(t, torch.Tensor) else t for t in inputs])\n    return first, fn(*inputs), inputs\n" if twice else "    return fn(*inputs), inputs\n"
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


STATE = (
    ("global_number", "FACTOR = 2\n", "{r} = {v} * FACTOR", "global FACTOR\n    FACTOR = 5"),
    ("global_list", "FACTORS = [2, 3]\n", "{r} = sum(({v} * f for f in FACTORS), {v} * 0)", "FACTORS.append(4)"),
    ("global_dict", "OPTIONS = {'shift': 1}\n", "{r} = {v} + OPTIONS.get('shift', 0) + len(OPTIONS)", "OPTIONS['more'] = 1\n    OPTIONS['shift'] = 7"),
    ("class_attribute", "class Holder:\n    amount = 2\n    def use(self, t):\n        return t * self.amount\nholder = Holder()\n", "{r} = holder.use({v})", "Holder.amount = 7"),
    ("instance_attribute", "class Holder:\n    amount = 2\n    def use(self, t):\n        return t * self.amount\nholder = Holder()\n", "{r} = holder.use({v})", "holder.amount = 9"),
    ("instance_method", "class Holder:\n    def use(self, t):\n        return t + 1\nholder = Holder()\n", "{r} = holder.use({v})", "holder.use = lambda t: t * 100"),
    ("class_method_replaced", "class Holder:\n    def use(self, t):\n        return t + 1\nholder = Holder()\n", "{r} = holder.use({v})", "Holder.use = lambda self, t: t * 50"),
    ("code_swapped", "def helper(t):\n    return t + 1\ndef other(t):\n    return t * 40\n", "{r} = helper({v})", "helper.__code__ = other.__code__"),
    ("method_code_swapped", "class Holder:\n    def use(self, t):\n        return t + 1\n    def other(self, t):\n        return t * 30\nholder = Holder()\n", "{r} = holder.use({v})", "Holder.use.__code__ = Holder.other.__code__"),
    ("default_changed", "def helper(t, by=2):\n    return t * by\n", "{r} = helper({v})", "helper.__defaults__ = (11,)"),
    ("keyword_default_changed", "def helper(t, *, by=2):\n    return t * by\n", "{r} = helper({v})", "helper.__kwdefaults__['by'] = 12"),
    ("closure_cell", "def make():\n    n = 1\n    def use(t):\n        return t + n\n    def set_to(value):\n        nonlocal n\n        n = value\n    return use, set_to\nuse, set_to = make()\n", "{r} = use({v})", "set_to(20)"),
    ("global_function", "def helper(t):\n    return t + 1\n", "{r} = helper({v})", "global helper\n    helper = lambda t: t - 60"),
    ("module_training", "drop = torch.nn.Dropout(1.0).eval()\n", "{r} = drop({v} + 0.0)", "drop.train()"),
    ("module_hook", "layer = torch.nn.Identity()\n", "{r} = layer({v})", "layer.register_forward_hook(lambda module, args, out: out * 3)"),
    ("module_pre_hook", "layer = torch.nn.Identity()\n", "{r} = layer({v})", "layer.register_forward_pre_hook(lambda module, args: (args[0] - 8,))"),
    ("module_replaced", "box = torch.nn.Sequential(torch.nn.Identity())\n", "{r} = box({v})", "box[0] = torch.nn.Flatten(0)"),
    ("module_appended", "box = torch.nn.ModuleList([torch.nn.Identity()])\n", "{r} = {v}\nfor m in box:\n    {r} = m({r}) * 2", "box.append(torch.nn.Identity())"),
    ("module_forward", "layer = torch.nn.Identity()\n", "{r} = layer({v})", "layer.forward = lambda t: t + 90"),
    ("module_buffer", "layer = torch.nn.Module()\nlayer.register_buffer('b', torch.ones(1))\n", "{r} = {v} + layer.b", "layer.b = torch.full((1,), 5.0)"),
    ("module_buffer_data", "layer = torch.nn.Module()\nlayer.register_buffer('b', torch.ones(1))\n", "{r} = {v} + layer.b", "layer.b.fill_(6)"),
    ("global_tensor", "OFFSET = torch.ones(1)\n", "{r} = {v} + OFFSET", "global OFFSET\n    OFFSET = torch.full((1,), 4.0)"),
    ("global_tensor_written", "OFFSET = torch.ones(1)\n", "{r} = {v} + OFFSET", "OFFSET.add_(3)"),
    ("enum_member", "import enum\nclass Kind(enum.Enum):\n    A = 1\n    B = 2\nkind = Kind.A\n", "{r} = {v} * (3 if kind is Kind.A else 5)", "global kind\n    kind = Kind.B"),
    ("type_of_global", "AMOUNT = 2\n", "{r} = {v} * AMOUNT", "global AMOUNT\n    AMOUNT = 2.5"),
    ("bool_as_int", "AMOUNT = 1\n", "{r} = {v} * (AMOUNT + 1), isinstance(AMOUNT, bool)", "global AMOUNT\n    AMOUNT = True"),
    ("negative_zero", "AMOUNT = 0.0\n", "{r} = torch.copysign({v} + 1.0, torch.tensor(AMOUNT))", "global AMOUNT\n    AMOUNT = -0.0"),
    ("nan_global", "AMOUNT = float('nan')\n", "{r} = {v} * 0 if AMOUNT == AMOUNT else {v} + 1", "global AMOUNT\n    AMOUNT = 1.0"),
    ("dict_order", "TABLE = {'a': 1, 'b': 2}\n", "{r} = {v} * 1\nfor i, key in enumerate(TABLE):\n    {r} = {r} + TABLE[key] * i", "TABLE['a'] = TABLE.pop('a')"),
    ("set_changed", "CHOSEN = {1, 2}\n", "{r} = {v} * len(CHOSEN) + (3 in CHOSEN)", "CHOSEN.add(3)"),
    ("dunder_call", "class Holder:\n    def __call__(self, t):\n        return t + 1\nholder = Holder()\n", "{r} = holder({v})", "Holder.__call__ = lambda self, t: t * 70"),
    ("property_replaced", "class Holder:\n    @property\n    def amount(self):\n        return 2\nholder = Holder()\n", "{r} = {v} * holder.amount", "Holder.amount = property(lambda self: 8)"),
    ("base_class_attribute", "class Base:\n    amount = 2\nclass Holder(Base):\n    pass\nholder = Holder()\n", "{r} = {v} * holder.amount", "Holder.amount = 6"),
    ("slots", "class Holder:\n    __slots__ = ('amount',)\n    def __init__(self):\n        self.amount = 2\nholder = Holder()\n", "{r} = {v} * holder.amount", "holder.amount = 6"),
    ("partial", "import functools\ndef scale(t, by):\n    return t * by\npart = functools.partial(scale, by=2)\n", "{r} = part({v})", "part.keywords['by'] = 13"),
    ("getattr_hook", "class Holder:\n    amounts = {'amount': 2}\n    def __getattr__(self, name):\n        return self.amounts[name]\nholder = Holder()\n", "{r} = {v} * holder.amount", "Holder.amounts['amount'] = 4"),
    ("isinstance_changed", "class A:\n    pass\nclass B:\n    pass\nthing = A()\n", "{r} = {v} * (2 if isinstance(thing, A) else 3)", "thing.__class__ = B"),
    ("module_attribute", "import types\nsettings = types.ModuleType('settings')\nsettings.amount = 2\n", "{r} = {v} * settings.amount", "settings.amount = 5"),
    ("list_identity", "A = [1]\nB = [1]\n", "{r} = {v} * (2 if A is B else 3)", "global B\n    B = A"),
    ("tensor_identity", "A = torch.ones(1)\nB = torch.ones(1)\n", "{r} = {v} * (2 if A is B else 3)", "global B\n    B = A"),
    ("requires_grad_flag", "W = torch.ones(1)\n", "{r} = {v} * (2 if W.requires_grad else 3) * W", "W.requires_grad_()"),
    ("user_dict", "class Table(dict):\n    def __missing__(self, key):\n        return 2\nTABLE = Table()\n", "{r} = {v} * TABLE['k']", "TABLE['k'] = 9"),
    ("lru_cache", "import functools\nBASE = [2]\n@functools.lru_cache\ndef amount():\n    return BASE[0]\n", "{r} = {v} * amount()", "BASE[0] = 5\n    amount.cache_clear()"),
    ("counter", "COUNT = [0]\n", "COUNT[0] += 1\n{r} = {v} * COUNT[0]", "pass"),
    ("iterator_global", "NUMBERS = iter([2, 3, 5, 7, 11, 13])\n", "{r} = {v} * next(NUMBERS)", "pass"),
    ("generator_global", "def numbers():\n    n = 1\n    while True:\n        yield n\n        n += 2\nNUMBERS = numbers()\n", "{r} = {v} * next(NUMBERS)", "pass"),
    ("string_global", "NAME = 'abs'\n", "{r} = getattr(torch, NAME)({v} - 3)", "global NAME\n    NAME = 'neg'"),
    ("dtype_global", "DTYPE = torch.float32\n", "{r} = {v}.to(DTYPE)", "global DTYPE\n    DTYPE = torch.float64"),
    ("named_tuple", "import collections\nPair = collections.namedtuple('Pair', 'a b')\nPAIR = Pair(2, 3)\n", "{r} = {v} * PAIR.a + PAIR.b", "global PAIR\n    PAIR = PAIR._replace(b=9)"),
    ("shape_guard", "SIZES = [3]\n", "{r} = {v}.flatten()[: SIZES[0]]", "SIZES[0] = 2"),
)  # fmt: skip


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
    heads = "".join(f"    {line}\n" for line in change.split("\n    ") if line.startswith("global"))
    rest = "".join(f"    {line}\n" for line in change.split("\n    ") if not line.startswith("global"))
    subject.set_drive(
        f"def drive(fn, inputs):\n{heads}    kept = [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]\n    first = fn(*inputs)\n{rest}    second = fn(*kept)\n    return first, second\n"
    )
    return word
