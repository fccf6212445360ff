"""Python around tensors: containers, closures, generators, exceptions, context managers. The pools are data: setup, body, what is observed.

``{v}`` is a tensor of the program, ``{r}`` a fresh name for the result.
"""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

Construct = tuple[str, str, str]

CONTAINERS: tuple[Construct, ...] = (
    ("list_alias", "{r} = [{v}, 1]\nother = {r}\nother.append({v} * 2)\nother[1] += 4", "{r}"),
    ("list_slice_assign", "{r} = [1, 2, 3, 4, 5]\n{r}[1:3] = [{v}, 9, 9]\n{r}[::2] = [0] * len({r}[::2])", "{r}"),
    ("list_extend_self", "{r} = [1, 2]\n{r}.extend(x + 1 for x in {r}[:2])\n{r} *= 2", "{r}"),
    ("list_extend_generator", "{r} = [{v}]\n{r}.extend({r}[i] * 2 for i in range(2))", "{r}"),
    ("list_default", "def keep(item, into=[]):\n    into.append(item)\n    return into\nkeep(1)\n{r} = keep({v} + 1)", "{r}"),
    ("list_grow_while_iterated", "{r} = [1]\nfor item in {r}:\n    if len({r}) < 4:\n        {r}.append(item + 1)", "{r}"),
    ("list_insert_negative", "{r} = [1, 2, 3]\n{r}.insert(-1, 9)\n{r}.insert(100, 8)\ndel {r}[0:2]", "({r}, {r}.index(9))"),
    ("list_sort_key", "{r} = sorted([(2, 'b'), (1, 'a'), (2, 'a')], key=lambda p: p[0], reverse=True)", "{r}"),
    ("list_multiply_alias", "{r} = [[0]] * 3\n{r}[0].append({v}.shape[0] if {v}.dim() else 0)", "{r}"),
    ("nested_list_tensor", "{r} = [[{v}], {v}]\n{r}[0][0] = {r}[1] + 1\n{r}[0] += [2]", "{r}"),
    ("reversed_iterator", "it = reversed([1, 2, 3, 4])\nnext(it)\n{r} = (next(it), list(it), list(it))", "{r}"),
    ("reversed_range", "{r} = (list(reversed(range(1, 9, 3))), range(9)[::-2][1], 4 in range(0, 9, 2), range(5).index(3))", "{r}"),
    ("dict_order", "{r} = {{'a': {v}, 'b': 1}}\n{r}['a'] = {r}.pop('a') + 1\n{r}.setdefault('c', []).append(3)", "({r}, list({r}))"),
    ("dict_merge", "base = {{'a': 1, 'b': {v}}}\n{r} = base | {{'b': 2, 'c': 3}}\nbase |= {{'d': 4}}\n{r}.update(base, e=5)", "({r}, base)"),
    ("dict_views", "d = {{'x': 1, 'y': 2}}\nkeys = d.keys()\nd['z'] = 3\n{r} = (list(keys), list(d.items())[-1], keys & {{'x', 'z'}}, d.popitem())", "{r}"),
    ("dict_tensor_values", "d = {{i: {v} * i for i in range(3)}}\n{r} = [d.pop(1), d.get(1, 'gone'), *d.values()]", "{r}"),
    ("dict_key_types", "d = {{1: 'int', True: 'bool', 1.0: 'float', (1,): 'tuple', None: 'none'}}\n{r} = (d, len(d), list(d))", "{r}"),
    ("defaultdict", "import collections\n{r} = collections.defaultdict(list)\n{r}['a'].append({v})\n{r}['b']\n", "dict({r})"),
    ("ordered_dict", "import collections\n{r} = collections.OrderedDict(a=1, b={v}, c=3)\n{r}.move_to_end('a')\n{r}.move_to_end('c', last=False)\nlast = {r}.popitem()", "(list({r}.items()), last)"),
    ("deque", "import collections\n{r} = collections.deque([1, 2, 3], maxlen=3)\n{r}.append(4)\n{r}.rotate(1)\n{r}.extendleft([7, 8])", "list({r})"),
    ("counter", "import collections\n{r} = collections.Counter('abca')\n{r}.update('aa')\n{r}.subtract({{'b': 3}})", "({r}.most_common(2), dict({r}), +{r} == {r})"),
    ("chain_map", "import collections\na, b = {{'x': 1}}, {{'x': 2, 'y': 3}}\nm = collections.ChainMap(a, b)\nm['y'] = 9\n{r} = (m['x'], a, b, sorted(m))", "{r}"),
    ("set_ops", "s = {{1, 2, 3}}\nt = s.copy()\nt ^= {{2, 9}}\ns.discard(7)\ns -= {{1}}\n{r} = (sorted(s), sorted(t), s.isdisjoint(t), frozenset(s) <= t)", "{r}"),
    ("tuple_ops", "t = (1, {v}, 3)\n{r} = t[::-1] + t[:1] * 2\nfirst, *middle, last = {r}", "({r}, middle, last, t.count(1))"),
    ("named_tuple", "import collections\nP = collections.namedtuple('P', 'a b', defaults=[5])\np = P({v})\n{r} = (p, p._replace(b={v} + 1), p._asdict(), P._fields)", "{r}"),
    ("string_ops", "{r} = (f'{{{v}.shape[0] if {v}.dim() else 0:>4}}', '%s-%d' % ('a', 3), 'a,b,,c'.split(','), 'abc'[::-1], 'x'.join(['1', '2']), str({v}.dtype))", "{r}"),
    ("star_call", "def gather(a, *rest, k=1, **more):\n    return [a, len(rest), k, sorted(more)]\n{r} = gather(*[{v}, 2, 3], **{{'k': 4, 'z': 5}})", "{r}"),
    ("walrus", "{r} = [y for x in range(6) if (y := x * x) % 2 == 0]\nn = (m := {v} + 1) * m", "({r}, n, m, y)"),
    ("zip_strict", "try:\n    {r} = list(zip([1, 2], [3], strict=True))\nexcept ValueError:\n    {r} = 'uneven'", "{r}"),
    ("zip_longest", "import itertools\n{r} = list(itertools.zip_longest([1, 2, 3], [{v}], fillvalue=0))", "{r}"),
    ("itertools", "import itertools\n{r} = (list(itertools.chain([1], (2, 3))), list(itertools.islice(itertools.count(3, 2), 4)), list(itertools.accumulate([1, 2, 3])), list(itertools.product('ab', [1, 2])), list(itertools.pairwise([1, 2, 3])))", "{r}"),
    ("itertools_state", "import itertools\nc = itertools.cycle([1, 2, 3])\na = [next(c) for _ in range(4)]\nt1, t2 = itertools.tee(iter([5, 6, 7]))\nnext(t1)\n{r} = (a, next(c), list(t1), list(t2))", "{r}"),
    ("groupby", "import itertools\n{r} = [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2, 2, 2, 1])]", "{r}"),
    ("takewhile", "import itertools\nit = iter([1, 2, 9, 3])\n{r} = (list(itertools.takewhile(lambda x: x < 5, it)), list(it), list(itertools.dropwhile(lambda x: x < 5, [1, 9, 1])), list(itertools.compress('abc', [1, 0, 1])), list(itertools.starmap(pow, [(2, 3)])))", "{r}"),
    ("map_filter_lazy", "calls = []\nm = map(lambda x: calls.append(x) or x + 1, [1, 2, 3])\nfirst = next(m)\n{r} = (first, list(calls), list(filter(None, [0, 1, '', 'a'])))\nrest = list(m)", "({r}, rest, calls)"),
    ("enumerate_start", "{r} = list(enumerate([{v}, {v} + 1], start=3))", "{r}"),
    ("min_max_key", "{r} = (min([3, 1, 2], key=lambda x: -x), max('ab', 'b', key=len), max([], default=7), sum([[1], [2]], []), any(x > 2 for x in (1, 3)), all([]))", "{r}"),
    ("slice_object", "s = slice(None, None, -1)\n{r} = ([1, 2, 3][s], s.indices(3), 'abcdef'[slice(1, 5, 2)])", "{r}"),
    ("int_ops", "{r} = (7 // -2, 7 % -2, divmod(-7, 2), round(2.5), round(-3.5), int(-2.7), (5).bit_length(), 2 ** -1, -7 // 2, 10 ** 20, True + True, hash(-1) == hash(-2), int('ff', 16), float('1e3'), abs(-3), pow(3, 4, 5))", "{r}"),
    ("float_ops", "import math\n{r} = (math.inf > 10, math.isnan(math.nan), 0.1 + 0.2, -0.0, math.copysign(1, -0.0), math.floor(-2.5), math.fsum([0.1] * 3), math.gcd(12, 18), 1e308 * 10, math.prod([1, 2, 3]), math.trunc(-2.5), round(2.675, 2), math.hypot(3, 4))", "{r}"),
    ("shape_arithmetic", "n = {v}.numel()\n{r} = (n // 2 * 2 == n, -n // 3, n % 5, max(n, 3), [n] * 2, {v}.shape[-1:] + (1,), torch.Size([2, n]).numel(), tuple({v}.shape)[::-1])", "{r}"),
    ("size_methods", "{r} = (list({v}.size()), {v}.shape == {v}.size(), {v}.ndim, {v}.shape.numel(), isinstance({v}.shape, tuple), {v}.element_size(), {v}.stride())", "{r}"),
    ("size_constructor", "{r} = torch.zeros(torch.Size((2, 3))) + torch.ones({v}.view(-1)[:2].size()).sum()", "({r}, torch.Tensor(torch.Size([2, 1])).shape, torch.Tensor([2, 1]).shape)"),
    ("bool_of_container", "{r} = (bool([]), not {{}}, [] or 'x', {{}} and 1, '' or None, bool((0,)), [[]] == [[]], () is (), [1] < [1, 2])", "{r}"),
    ("comprehension_scope", "i = 7\n{r} = [i for i in range(3)]\nfs = [lambda: i for _ in range(2)]\ni = 9", "({r}, [f() for f in fs])"),
    ("late_binding", "fs = [lambda x: x * i for i in range(1, 4)]\n{r} = [f({v}) for f in fs]", "{r}"),
    ("del_and_rebind", "t = {v} * 1\nu = t\ndel t\nt = u + 1\nt, u = u, t\n{r} = (t, u)", "{r}"),
    ("inplace_on_tuple_item", "p = ([1], {v})\np[0].append(2)\ntry:\n    p[0] += [3]\nexcept TypeError:\n    pass\n{r} = p", "{r}"),
    ("copy_module", "import copy\na = [[1], {v}]\nb = copy.copy(a)\nc = copy.deepcopy(a)\na[0].append(2)\n{r} = (a[0], b[0], c[0], b[1] is a[1], c[1] is a[1])", "{r}"),
)  # fmt: skip
FLOW: tuple[Construct, ...] = (
    ("closure_counter", "n = 0\ndef bump():\n    nonlocal n\n    n += 1\n    return n\nbump()\n{r} = {v} * bump()", "({r}, n)"),
    ("closure_siblings", "def make():\n    n = [{v}]\n    def put(x):\n        n.append(x)\n    def get():\n        return n\n    return put, get\nput, get = make()\nput(3)\n{r} = get()", "{r}"),
    ("closure_over_loop_tensor", "total = {v} * 0\ndef add(x):\n    nonlocal total\n    total = total + x\nfor k in range(3):\n    add({v} * k)\n{r} = total", "{r}"),
    ("local_class_appends", "log = []\nclass Helper:\n    def go(self, x):\n        log.append(x)\n        return self\nHelper().go(1).go({v} + 1)\n{r} = log", "{r}"),
    ("local_class_attribute", "class Helper:\n    seen = []\n    count = 0\n    def go(self, x):\n        self.seen.append(x)\n        Helper.count += 1\n        self.count += 10\nh = Helper()\nh.go(1)\nHelper().go(2)\n{r} = (Helper.seen, Helper.count, h.count)", "{r}"),
    ("generator_send", "def running():\n    total = 0\n    while True:\n        x = yield total\n        if x is None:\n            return\n        total += x\ng = running()\nnext(g)\n{r} = [g.send(2), g.send(3)]\ng.close()", "{r}"),
    ("generator_return", "def inner():\n    yield 1\n    return {v} * 2\ndef outer():\n    result = yield from inner()\n    yield result\n{r} = list(outer())", "{r}"),
    ("generator_finally", "log = []\ndef numbers():\n    try:\n        yield 1\n        yield 2\n    finally:\n        log.append('closed')\ng = numbers()\nfirst = next(g)\ng.close()\n{r} = (first, log, list(g))", "{r}"),
    ("generator_exception", "def numbers():\n    try:\n        yield 1\n    except KeyError as error:\n        yield str(error)\ng = numbers()\nnext(g)\n{r} = g.throw(KeyError('k'))", "{r}"),
    ("generator_shared", "g = (i * i for i in range(5))\na = [next(g), next(g)]\nb = sum(g)\n{r} = (a, b, list(g), next(g, 'end'))", "{r}"),
    ("generator_in_list", "g = ({v} * i for i in range(3))\nnext(g)\n{r} = [*g]", "{r}"),
    ("try_finally_return", "log = []\ndef f():\n    try:\n        return 'try'\n    finally:\n        log.append('finally')\n{r} = (f(), log)", "{r}"),
    ("finally_overrides", "def f():\n    for i in range(3):\n        try:\n            if i == 1:\n                continue\n            if i == 2:\n                return i\n        finally:\n            log.append(i)\n    return 'end'\nlog = []\n{r} = (f(), log)", "{r}"),
    ("except_rebind", "error = 'before'\ntry:\n    [][1]\nexcept IndexError as e:\n    kept = type(e).__name__, e.args\n{r} = (kept, 'e' in locals())", "kept"),
    ("exception_chain", "try:\n    try:\n        {{}}['k']\n    except KeyError as e:\n        raise ValueError('outer') from e\nexcept ValueError as e:\n    {r} = (str(e), type(e.__cause__).__name__, e.__suppress_context__)", "{r}"),
    ("exception_else", "{r} = []\nfor k in (1, 0):\n    try:\n        q = 4 // k\n    except ZeroDivisionError:\n        {r}.append('zero')\n    else:\n        {r}.append(q)\n    finally:\n        {r}.append('end')", "{r}"),
    ("custom_exception", "class Stop(Exception):\n    def __init__(self, value):\n        super().__init__(value)\n        self.value = value\ntry:\n    raise Stop({v} + 1)\nexcept Stop as e:\n    {r} = e.value", "({r}, issubclass(Stop, Exception))"),
    ("exception_in_helper", "def risky(x, k):\n    y = x + 1\n    if k:\n        raise RuntimeError('no')\n    return y\ntry:\n    {r} = risky({v}, True)\nexcept RuntimeError as e:\n    {r} = {v} * 2, str(e)", "{r}"),
    ("exception_after_write", "w = {v}.clone()\ntry:\n    w.add_(1)\n    w.mul_(2)\n    raise KeyError('late')\nexcept KeyError:\n    w.sub_(3)\n{r} = w", "{r}"),
    ("stop_iteration", "it = iter([1])\n{r} = [next(it)]\ntry:\n    next(it)\nexcept StopIteration as e:\n    {r}.append(('stopped', e.value))", "{r}"),
    ("assert_caught", "try:\n    assert {v}.numel() < 0, 'negative'\nexcept AssertionError as e:\n    {r} = str(e)", "{r}"),
    ("attribute_error_tensor", "try:\n    {v}.no_such_thing\nexcept AttributeError:\n    {r} = hasattr({v}, 'no_such_thing'), getattr({v}, 'nothing', 5)", "{r}"),
    ("shape_error_caught", "try:\n    {r} = {v}.reshape(-1)[:2] + torch.ones(3)\nexcept RuntimeError:\n    {r} = {v} * 3", "{r}"),
    ("context_class", "class Note:\n    log = []\n    def __enter__(self):\n        self.log.append('in')\n        return self\n    def __exit__(self, kind, value, trace):\n        self.log.append(kind.__name__ if kind else 'out')\n        return kind is KeyError\nwith Note() as n:\n    raise KeyError\nwith Note():\n    pass\n{r} = n.log", "{r}"),
    ("context_manager", "import contextlib\nlog = []\n@contextlib.contextmanager\ndef note(name):\n    log.append(name)\n    try:\n        yield {v} * 2\n    finally:\n        log.append('-' + name)\nwith note('a') as t, note('b'):\n    {r} = t + 1", "({r}, log)"),
    ("suppress", "import contextlib\n{r} = [1]\nwith contextlib.suppress(KeyError):\n    {r}.append(2)\n    {{}}['x']\n    {r}.append(3)", "{r}"),
    ("exit_stack", "import contextlib\nlog = []\nwith contextlib.ExitStack() as stack:\n    stack.callback(log.append, 1)\n    stack.callback(log.append, 2)\n    stack.enter_context(contextlib.nullcontext())\n{r} = log", "{r}"),
    ("for_else", "{r} = []\nfor i in range(3):\n    if i == 5:\n        break\nelse:\n    {r}.append('else')\nwhile len({r}) < 3:\n    {r}.append(i)\nelse:\n    {r}.append('while')", "({r}, i)"),
    ("match", "def kind(x):\n    match x:\n        case {{'a': int(n)}}:\n            return n\n        case [first, *rest]:\n            return first, len(rest)\n        case None | False:\n            return 'nothing'\n        case str() as s if s:\n            return s.upper()\n        case _:\n            return 'other'\n{r} = [kind(x) for x in ({{'a': 3}}, [1, 2, 3], None, 'q', '', 2.5)]", "{r}"),
    ("chained_comparison", "calls = []\ndef n(x):\n    calls.append(x)\n    return x\n{r} = (n(1) < n(3) < n(2) < n(9), 1 < 2 == 2, not 1 == 2, 3 in [1, 2] == False)", "({r}, calls)"),
    ("short_circuit", "calls = []\ndef f(x):\n    calls.append(x)\n    return x\n{r} = f(0) or f(2) and f(0) or f(5)", "({r}, calls)"),
    ("recursion", "def fact(n, acc):\n    return acc if n == 0 else fact(n - 1, acc * n)\n{r} = fact(4, {v})", "{r}"),
    ("decorator", "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a, **k):\n        return f(f(*a, **k), **k)\n    g.calls = 2\n    return g\n@twice\ndef add(x, by=1):\n    return x + by\n{r} = (add({v}, by=3), add.__name__, add.calls)", "{r}"),
    ("partial_method", "import functools\npart = functools.partial(torch.add, alpha=2)\n{r} = (part({v}, 1), functools.reduce(lambda a, b: a * 2 + b, [1, 2, 3]), part.keywords)", "{r}"),
    ("lambda_default", "f = lambda x, k={v}.shape[0] if {v}.dim() else 1: x * k\n{r} = (f(2), f(2, k=5), f.__defaults__)", "{r}"),
    ("function_attribute", "def f(x):\n    f.calls = getattr(f, 'calls', 0) + 1\n    return x + f.calls\nf({v})\n{r} = (f({v}), f.calls)", "{r}"),
    ("global_counter", "{r} = {v} + 1\nglobal _counted\n_counted = 3\n_counted += 2", "({r}, _counted)"),
    ("conditional_import", "import operator\nfrom collections import abc\n{r} = (operator.itemgetter(1)([4, 5]), operator.methodcaller('count', 1)([1, 1]), isinstance([], abc.Sequence), operator.add({v}, 1), operator.index(3))", "{r}"),
    ("item_branch", "n = int({v}.flatten()[0])\nif n > 0:\n    {r} = {v} + n\nelse:\n    {r} = {v} - 1", "({r}, n)"),
    ("tolist_loop", "{r} = 0\nfor x in {v}.flatten()[:3].tolist():\n    {r} = {r} * 2 + x", "{r}"),
    ("iterate_tensor", "{r} = [row * i for i, row in enumerate({v}.reshape(-1)[:3])]\nlength = len({v}.reshape(-1))", "({r}, length)"),
    ("print_and_continue", "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('ignore')\n    warnings.warn('w')\n{r} = {v} + 1", "{r}"),
    ("graph_break_between", "w = {v} * 2\ntorch._dynamo.graph_break()\nw.add_(1)\n{r} = w + {v}", "({r}, w)"),
    ("graph_break_in_loop", "{r} = {v} * 1\nfor i in range(3):\n    {r} = {r} + i\n    if i == 1:\n        torch._dynamo.graph_break()", "{r}"),
    ("graph_break_in_with", "with torch.no_grad():\n    {r} = {v} * 2\n    torch._dynamo.graph_break()\n    {r} = {r} + 1\nflag = torch.is_grad_enabled()", "({r}, flag)"),
    ("view_over_graph_break", "part = {v}.clone()\nview = part.view(-1)\ntorch._dynamo.graph_break()\nview.add_(1)\npart.mul_(2)\n{r} = view", "({r}, part)"),
    ("disabled_helper", "@torch._dynamo.disable\ndef outside(x, log):\n    log.append(x.shape)\n    return x.add_(1)\nlog = []\nw = {v}.clone()\n{r} = outside(w, log) * 2", "({r}, w, len(log))"),
)  # fmt: skip


def plant(subject: Subject, draw: Draw, pool: tuple[Construct, ...], most: int = 2) -> str | None:
    """Insert some of a pool's constructs at one site and observe them."""
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 3 and v.dtype not in ("uint8",))
    if found is None:
        return None
    site, v = found
    words = []
    for word, code, seen in draw.sample(pool, draw.whole(1, most)):
        r = subject.fresh("made")
        subject.insert(site, code.format(v=v.name, r=r))
        subject.observe(seen.format(v=v.name, r=r))
        words.append(word)
    return "+".join(words)


@mutator("python_containers", "python-containers", compiles=False)
def python_containers(subject: Subject, draw: Draw) -> str | None:
    """Lists, dicts, sets, iterators with aliases, in-place growth, order."""
    return plant(subject, draw, CONTAINERS, 3)


@mutator("python_flow", "python-control-flow", compiles=False)
def python_flow(subject: Subject, draw: Draw) -> str | None:
    """Closures, generators, exceptions, context managers, graph breaks."""
    return plant(subject, draw, FLOW)


@mutator("enclosing_state", "enclosing-state", compiles=False)
def enclosing_state(subject: Subject, draw: Draw) -> str | None:
    """State in the module around the callable, changed by a helper, a local class or a generator inside it; read after the call."""
    found = subject.pick(draw, lambda v: v.numeric and v.numel >= 1)
    if found is None or subject.drive is not None:
        return None
    site, v = found
    word, setup, code, state = draw.choice(ENCLOSING)
    r = subject.fresh("made")
    subject.define(setup)
    subject.insert(site, code.format(v=v.name, r=r))
    subject.observe(r)
    calls = draw.whole(1, 2)
    lines = "".join(f"    result{i} = fn(*[t.clone() if isinstance(t, torch.Tensor) else t for t in inputs])\n" for i in range(calls))
    subject.set_drive(f"def drive(fn, inputs):\n{lines}    return {', '.join(f'result{i}' for i in range(calls))}, {state}\n")
    return f"{word}{'.second' if calls > 1 else ''}"


ENCLOSING = (
    ("local_class", "LOG = []\n", "class Helper:\n    def go(self, x):\n        LOG.append(x)\nHelper().go(3)\n{r} = {v} + 1", "list(LOG)"),
    ("local_function", "LOG = []\n", "def note(x):\n    LOG.append(x)\n    return len(LOG)\n{r} = {v} * note('a') + note('b')", "list(LOG)"),
    ("made_by_closure", "def make():\n    log = []\n    def put(x):\n        log.append(x)\n        return len(log)\n    return put, log\nput, LOG = make()\n", "class Helper:\n    def go(self, x):\n        return put(x)\n{r} = {v} + Helper().go(4) + put(5)", "list(LOG)"),
    ("dict_method", "TABLE = {}\n", "class Helper:\n    def go(self, k, x):\n        TABLE[k] = x\n        return self\nHelper().go('a', 1).go('b', 2)\n{r} = {v} + len(TABLE)", "dict(TABLE)"),
    ("list_comprehension_effect", "LOG = []\n", "{r} = {v} * len([LOG.append(i) for i in range(3)])", "list(LOG)"),
    ("generator_effect", "LOG = []\n", "def numbers():\n    for i in range(3):\n        LOG.append(i)\n        yield i\n{r} = {v} + sum(numbers())", "list(LOG)"),
    ("generator_half_used", "LOG = []\n", "def numbers():\n    for i in range(3):\n        LOG.append(i)\n        yield i\n{r} = {v} + next(numbers())", "list(LOG)"),
    ("property_effect", "class Box:\n    reads = 0\n    @property\n    def value(self):\n        Box.reads += 1\n        return 2\nbox = Box()\n", "{r} = {v} * box.value + box.value", "Box.reads"),
    ("setattr_effect", "class Box:\n    pass\nbox = Box()\nbox.items = []\n", "box.last = 5\nsetattr(box, 'name', 'n')\nbox.items += [1]\n{r} = {v} + box.last", "sorted(vars(box).items())"),
    ("dict_of_lists", "TABLE = {'a': []}\n", "for i in range(2):\n    TABLE['a'].append(i)\n    TABLE.setdefault('b', []).insert(0, i)\n{r} = {v} + len(TABLE['a'])", "TABLE"),
    ("nonlocal_in_module_closure", "def make():\n    n = 0\n    def bump():\n        nonlocal n\n        n += 1\n        return n\n    def read():\n        return n\n    return bump, read\nbump, read = make()\n", "{r} = {v} * bump() + bump()", "read()"),
    ("global_rebind", "TOTAL = 0\n", "def add(k):\n    global TOTAL\n    TOTAL += k\nadd(2)\nadd(3)\n{r} = {v} + TOTAL", "TOTAL"),
    ("effect_then_error", "LOG = []\n", "try:\n    LOG.append(1)\n    [][2]\n    LOG.append(2)\nexcept IndexError:\n    LOG.append(3)\n{r} = {v} + len(LOG)", "list(LOG)"),
    ("tensor_kept", "KEPT = []\n", "KEPT.append({v})\n{r} = {v} + 1\nKEPT.append({r})\n{r} = {r} * 2", "KEPT"),
    ("tensor_kept_written", "KEPT = []\n", "w = {v}.clone()\nKEPT.append(w)\nw.add_(1)\n{r} = w * 2", "KEPT"),
    ("class_registry", "REGISTRY = []\nclass Base:\n    def __init_subclass__(cls, **kwargs):\n        REGISTRY.append(cls.__name__)\n", "class Leaf(Base):\n    pass\n{r} = {v} + len(REGISTRY)", "list(REGISTRY)"),
    ("context_effect", "LOG = []\nclass Note:\n    def __enter__(self):\n        LOG.append('in')\n    def __exit__(self, *args):\n        LOG.append('out')\n", "with Note():\n    {r} = {v} + 1\n    LOG.append('body')", "list(LOG)"),
    ("iterator_global", "NUMBERS = iter(range(100))\n", "{r} = {v} * next(NUMBERS) + next(NUMBERS)", "next(NUMBERS)"),
    ("deque_global", "import collections\nQUEUE = collections.deque([1, 2, 3], maxlen=3)\n", "QUEUE.append(9)\n{r} = {v} + QUEUE[0] + QUEUE.popleft()", "list(QUEUE)"),
    ("set_global", "SEEN = set()\n", "SEEN.add(3)\nSEEN.update([4, 5])\nSEEN.discard(4)\n{r} = {v} + len(SEEN)", "sorted(SEEN)"),
    ("sort_global", "ITEMS = [3, 1, 2]\n", "ITEMS.sort(key=lambda x: -x)\nITEMS.reverse()\n{r} = {v} + ITEMS[0]\nITEMS[1:] = [7]", "list(ITEMS)"),
    ("default_argument", "def keep(x, into=[]):\n    into.append(x)\n    return len(into)\n", "{r} = {v} * keep(1) + keep(2)", "keep.__defaults__"),
    ("user_list", "class Items(list):\n    def append(self, x):\n        super().append(x * 10)\nITEMS = Items()\n", "ITEMS.append(1)\nITEMS.extend([2])\n{r} = {v} + len(ITEMS)", "list(ITEMS)"),
    ("slots_object", "class Point:\n    __slots__ = ('x', 'log')\n    def __init__(self):\n        self.x, self.log = 1, []\npoint = Point()\n", "point.x += 4\npoint.log.append(point.x)\n{r} = {v} * point.x", "(point.x, point.log)"),
    ("function_attribute", "def helper(x):\n    helper.calls += 1\n    return x + helper.calls\nhelper.calls = 0\n", "{r} = helper(helper({v}))", "helper.calls"),
    ("weak_dict", "import weakref\nclass Key:\n    pass\nkey = Key()\nTABLE = weakref.WeakKeyDictionary()\n", "TABLE[key] = 5\n{r} = {v} + TABLE[key]", "len(TABLE)"),
)  # fmt: skip
