"""What a child observes of a program, through a real server: outcomes, inputs, gradients, state, modes, the shadow and nudge actions."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from workbench.oracle.observation import Observation
from workbench.runner.protocol import Request
from workbench.servers import Pool

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(jobs=1) as pool:
        yield pool


@pytest.fixture(scope="module")
def execute(pool: Pool) -> Any:
    def run(source: str, action: str = "run", backend: str | None = None, **request: Any) -> Observation:
        keys = {k: request.pop(k) for k in ("grad", "seed", "fullgraph", "dynamic", "threads", "device", "inductor", "dynamo", "mode") if k in request}
        text = "import torch\n" + dedent(source)
        done = pool.run(Request(action, text, backend=backend, configuration=keys, **request))
        assert done.status == "ok", (done.status, done.detail, done.output)
        assert done.document is not None
        return Observation(done.document, done.blobs)

    return run


def array(observation: Observation, path: str) -> Any:
    found = observation.leaves[path].array
    assert found is not None
    return found


INPUTS = """
def get_inputs():
    return [torch.arange(3.0)]
"""


# outcomes


@pytest.mark.parametrize(
    ("source", "where", "line", "words"),
    [
        ("def fn(x)\n  return x", "import", 2, "syntax error"),
        ("import nosuchmodule", "import", 2, "nosuchmodule"),
        ("raise SystemExit(0)", "import", 2, "SystemExit"),
        ("x = 1", "import", None, "neither fn nor class Model"),
        ("fn = 3", "import", None, "fn is int"),
        ("def fn(x): return x", "get_inputs", None, "no get_inputs()"),
        ("def fn(x): return x\ndef get_inputs():\n    return 1 // 0", "get_inputs", 4, "ZeroDivisionError"),
        ("def fn(x): return x\ndef get_inputs():\n    return torch.ones(1)", "get_inputs", None, "returned Tensor"),
        ("class Model(torch.nn.Module):\n    def __init__(self):\n        1 // 0\ndef get_inputs():\n    return []", "constructor", 4, "Zero"),
    ],
)
def test_what_fails_outside_the_callable_is_invalid(execute: Any, source: str, where: str, line: int | None, words: str) -> None:
    found = execute(source)
    assert (found.outcome, found.where, found.exception.line) == ("invalid", where, line)
    assert words in found.exception.message


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"inductor": {"cpp.simdlne": 0}}, "did you mean cpp.simdlen"),
        ({"dynamo": {"nosuch": 0}}, "nosuch"),
        ({"device": "cuda"}, "cuda"),
        ({"device": "toaster"}, "toaster"),
        ({"backend": "inductr"}, "did you mean inductor"),
    ],
)
def test_a_configuration_that_torch_does_not_know_is_invalid(execute: Any, keys: dict[str, Any], words: str) -> None:
    found = execute("def fn(x): return x" + INPUTS, **{"backend": "eager", **keys})
    assert found.outcome == "invalid"
    assert words in found.exception.message


@pytest.mark.parametrize(
    ("body", "name"),
    [("1 // 0", "ZeroDivisionError"), ("raise SystemExit(3)", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt"), ("[][1]", "IndexError")],
)
@pytest.mark.parametrize("backend", [None, "eager"])
def test_an_exception_inside_the_call_is_raised_with_its_own_class(execute: Any, body: str, name: str, backend: str | None) -> None:
    found = execute(f"def fn(x):\n    y = x + 1\n    {body}" + INPUTS, backend=backend, fullgraph=backend is not None)
    assert (found.outcome, found.where, found.exception.class_name, found.exception.line) == ("raised", "call", name, 4)


def test_dynamos_wrapper_is_named_beside_what_it_wraps(execute: Any) -> None:
    found = execute("def fn(x):\n    return x + torch.ones(4)" + INPUTS, backend="eager")
    assert (found.exception.class_name, found.exception.wrapped) == ("RuntimeError", "torch._dynamo.exc.TorchRuntimeError")


def test_what_drive_raises_belongs_to_the_call(execute: Any) -> None:
    found = execute("def fn(x): return x\ndef drive(f, i):\n    raise OSError" + INPUTS)
    assert (found.outcome, found.where, found.exception.class_name) == ("raised", "call", "OSError")


def test_what_backward_raises_belongs_to_backward(execute: Any) -> None:
    source = """
    class F(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x): return x * 2
        @staticmethod
        def backward(ctx, g): raise ValueError("no")
    def fn(x): return F.apply(x)
    """
    found = execute(dedent(source) + INPUTS, grad=True)
    assert (found.outcome, found.where, found.exception.class_name) == ("raised", "backward", "ValueError")


# how a program is executed


def test_a_kernelbench_file_is_a_program_as_it_is(execute: Any) -> None:
    source = """
    import torch.nn as nn
    class Model(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale
            self.w = nn.Parameter(torch.ones(2))
        def forward(self, x): return x * self.w * self.scale
    def get_inputs(): return [torch.ones(2)]
    def get_init_inputs(): return [3]
    """
    for backend in (None, "eager"):
        found = execute(source, backend=backend)
        assert array(found, "return").tolist() == [3, 3]
        assert array(found, "parameters.w").tolist() == [1, 1]


def test_the_program_is_seeded_before_it_executes_and_before_the_call(execute: Any) -> None:
    source = """
    import random
    first = (torch.rand(1).item(), random.random())
    def fn(x): return torch.rand(1).item(), random.random()
    """
    found = execute(dedent(source) + INPUTS, seed=7)
    again = execute(dedent(source) + INPUTS, seed=7)
    other = execute(dedent(source) + INPUTS, seed=8)
    assert found.python["globals"]["state"]["first"] == found.python["return"]
    assert found.python == again.python
    assert found.rng == again.rng
    assert found.rng != other.rng


def test_drive_gets_the_compiled_callable_and_its_result_is_observed(execute: Any) -> None:
    source = "def fn(x): return x + torch.compiler.is_compiling()\ndef drive(f, inputs): return [f(*inputs), f(inputs[0] + 1)]" + INPUTS
    assert array(execute(source), "return[1]").tolist() == [1, 2, 3]
    compiled = execute(source, backend="eager")
    assert array(compiled, "return[1]").tolist() == [2, 3, 4]
    assert compiled.facts["graphs"] > 0
    assert compiled.facts["asks_if_compiled"] is True


def test_a_program_that_compiles_itself_stays_eager_in_an_eager_run(execute: Any) -> None:
    source = "@torch.compile(backend='eager')\ndef fn(x): return x + torch.compiler.is_compiling()" + INPUTS
    assert array(execute(source), "return").tolist() == [0, 1, 2]


def test_configuration_reaches_the_compiler(execute: Any) -> None:
    source = "import torch._dynamo.config as c\nimport torch._inductor.config as i\ndef fn(x): return c.cache_size_limit, i.cpp.simdlen" + INPUTS
    found = execute(source, dynamo={"cache_size_limit": 3}, inductor={"cpp.simdlen": 0}, patches={"inductor": {"cpp.simdlen": 1}})
    assert found.python["return"] == {"tuple": [3, 1]}


def test_an_iterator_is_drained_inside_the_call(execute: Any) -> None:
    found = execute("def fn(x): return (x + i for i in range(2))" + INPUTS)
    assert array(found, "return[1]").tolist() == [1, 2, 3]


def test_an_iterator_inside_a_tuple_is_drained_and_its_class_does_not_count(execute: Any) -> None:
    found = execute("def fn(x): return 1, {'k': (x + i for i in range(2))}" + INPUTS)
    other = execute("def fn(x): return 1, {'k': iter([x, x + 1])}" + INPUTS)
    assert array(found, "return[1]['k'][1]").tolist() == [1, 2, 3]
    assert found.python == other.python


def test_modules_beside_an_own_program_are_imported_and_arguments_passed(execute: Any, tmp_path: Any) -> None:
    (tmp_path / "store.py").write_text("VALUE = 5\n")
    source = "import sys\nimport store\ndef fn(x): return store.VALUE, sys.argv[1:]" + INPUTS
    found = execute(source, profile="own", folder=str(tmp_path), filename=str(tmp_path / "main.py"), argv=["--a"])
    assert found.python["return"] == {"tuple": [5, ["--a"]]}


# inputs, sharing, gradients


def test_inputs_are_observed_after_the_call_with_strides_offset_and_sharing(execute: Any) -> None:
    source = """
    def fn(x, y):
        x.mul_(2)
        return y
    def get_inputs():
        base = torch.arange(12.0)
        return [base[2:10].view(4, 2).t(), base]
    """
    for backend in (None, "aot_eager"):
        found = execute(source, backend=backend)
        assert found.leaves["inputs[0]"].stride == (1, 2)
        assert array(found, "inputs[1]").tolist() == [0, 1, 4, 6, 8, 10, 12, 14, 16, 18, 10, 11]
        assert ("inputs[0]", "inputs[1]") in found.aliases & found.probed
        assert ("return", "inputs[1]") in found.aliases & found.probed


GRAD = "def fn(x, n): return x * x, n, x.detach()\ndef get_inputs(): return [torch.arange(3.0), torch.arange(2)]"


def test_floating_inputs_get_gradients_with_a_cotangent_that_is_not_constant(execute: Any) -> None:
    eager, compiled = execute(GRAD, grad=True), execute(GRAD, backend="aot_eager", grad=True)
    gradient = array(eager, "gradients.inputs[0]")
    assert gradient[0] == 0
    assert gradient[1] / 2 != gradient[2] / 4
    assert gradient.tolist() == array(compiled, "gradients.inputs[0]").tolist()
    assert eager.leaves["return[0]"].requires_grad
    assert "gradients.inputs[1]" not in eager.leaves


def test_without_grad_nothing_is_given_requires_grad(execute: Any) -> None:
    found = execute(GRAD)
    assert not found.leaves["return[0]"].requires_grad
    assert found.python["gradients"] == {}


def test_an_input_that_requires_grad_by_itself_is_the_only_one(execute: Any) -> None:
    source = "def fn(x, y): return x * y\ndef get_inputs(): return [torch.ones(2), torch.ones(2, requires_grad=True)]"
    found = execute(source, grad=True)
    assert set(found.python["gradients"]) == {"inputs[1]"}


def test_a_parameter_that_gets_no_gradient_is_told_as_none(execute: Any) -> None:
    source = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used = torch.nn.Linear(2, 2)
            self.idle = torch.nn.Parameter(torch.ones(1))
        def forward(self, x): return self.used(x)
    def get_inputs(): return [torch.ones(2)]
    """
    found = execute(source, grad=True)
    assert found.python["gradients"]["idle"] is None
    assert {"gradients.used.weight", "gradients.used.bias", "gradients.inputs[0]"} <= set(found.leaves)


def test_gradients_of_the_programs_own_backward_are_observed_without_grad(execute: Any) -> None:
    source = "w = torch.ones(3, requires_grad=True)\ndef fn(x):\n    (w * x).sum().backward()\n    return 1" + INPUTS
    assert array(execute(source), "gradients.globals.w").tolist() == [0, 1, 2]


IN_PLACE = """
def fn(x, y):
    x.mul_(3)
    return x * y
def get_inputs():
    base = torch.arange(8.0)
    return [base[1:7:2], base.view(2, 4)[1]]
"""


def test_a_write_into_a_leaf_of_our_own_making_happens_on_a_clone(execute: Any) -> None:
    eager = execute("def fn(x): return x.mul_(3) * 1\ndef get_inputs(): return [torch.arange(6.0)[::2]]", grad=True)
    assert eager.outcome == "returned"
    assert eager.facts["leaf"] == "clone"
    assert array(eager, "inputs[0]").tolist() == [0, 6, 12]
    assert eager.leaves["inputs[0]"].stride == (2,)
    compiled = execute("def fn(x): return x.mul_(3) * 1\ndef get_inputs(): return [torch.arange(6.0)[::2]]", "run", "aot_eager", grad=True, leaf="clone")
    assert np.array_equal(array(eager, "gradients.inputs[0]"), array(compiled, "gradients.inputs[0]"))
    assert array(eager, "gradients.inputs[0]").min() >= 1.5


def test_clones_share_memory_as_their_leaves_do(execute: Any) -> None:
    source = "def fn(x, y):\n    x.mul_(3)\n    return y * 1\ndef get_inputs():\n    b = torch.arange(8.0)\n    return [b[1:7:2], b.view(2, 4)[1]]"
    found = execute(source, grad=True)
    assert found.facts["leaf"] == "clone"
    assert array(found, "inputs[1]").tolist() == [4, 15, 6, 7]
    assert ("inputs[0]", "inputs[1]") in found.aliases


# state


STATE = """
import math
from collections import Counter
class Box:
    made = 0
    def __init__(self): self.items = []
box, total, tally = Box(), 0, Counter()
def build():
    calls = 0
    def f(x):
        global total
        nonlocal calls
        total += 2
        calls += 1
        Box.made += 1
        box.items.append(x + 1)
        tally["k"] += 1
        return x
    return f
fn = build()
"""


@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_the_programs_own_state_is_observed_and_dynamos_names_are_not(execute: Any, backend: str | None) -> None:
    state = execute(STATE + INPUTS, backend=backend).python["globals"]["state"]
    assert set(state) == {"Box", "box", "total", "tally", "fn"}
    assert state["Box"] == {"state": {"made": 1}}
    assert state["box"]["attributes"]["items"] == [{"tensor": "globals.box.items[0]"}]
    assert state["total"] == 2
    assert state["fn"] == {"state": {"calls": 1}}


def test_plain_attributes_of_a_module_are_state(execute: Any) -> None:
    source = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.register_buffer("b", torch.zeros(1))
        def forward(self, x):
            self.calls += 1
            self.b += 1
            return x
    def get_inputs(): return [torch.ones(1)]
    """
    for backend in (None, "aot_eager"):
        found = execute(source, backend=backend)
        assert found.python["globals"]["state"]["fn"] == {"state": {"training": True, "calls": 1}}
        assert array(found, "buffers.b").tolist() == [1]


def test_parameters_of_a_module_that_fn_only_closes_over_are_observed(execute: Any) -> None:
    source = "net = torch.nn.Linear(3, 1)\ndef fn(x): return net(x)" + INPUTS
    found = execute(source, grad=True)
    assert {"parameters.net.weight", "gradients.net.weight"} <= set(found.leaves)


def test_modes_left_on_are_told(execute: Any) -> None:
    plain = execute("def fn(x): return x" + INPUTS)
    source = "def fn(x):\n    torch.set_autocast_enabled('cpu', True)\n    torch.set_grad_enabled(False)\n    torch.set_default_dtype(torch.float64)\n    return x"
    left = execute(source + INPUTS)
    changed = {k for k in plain.modes if plain.modes[k] != left.modes[k]}
    assert changed == {"autocast_cpu", "grad", "default_dtype"}


def test_what_a_program_breaks_does_not_break_the_observation(execute: Any) -> None:
    source = """
    import builtins, os, sys
    def fn(x):
        torch.set_default_device("meta")
        torch.set_default_dtype(torch.float16)
        builtins.print = None
        builtins.sorted = lambda *a, **k: 1 // 0
        sys.stdout = sys.stderr = None
        os.close(1)
        return x * 2
    """
    found = execute(dedent(source) + INPUTS)
    assert array(found, "return").tolist() == [0, 2, 4]


# exotic tensors


def test_sparse_nested_and_quantised_tensors_are_told_by_their_parts(execute: Any) -> None:
    source = """
    def fn(x):
        return {
            "sparse": torch.diag(x).to_sparse(),
            "csr": torch.diag(x).to_sparse_csr(),
            "q": torch.quantize_per_tensor(x, 0.5, 0, torch.qint8),
            "meta": torch.empty(2, device="meta"),
            "conj": torch.complex(x, x).conj(),
            "half": x.to(torch.float8_e4m3fn),
            "nested": torch.nested.nested_tensor([x, x[:1]]),
        }
    """
    found = execute(dedent(source) + INPUTS)
    assert array(found, "return['sparse'].values").tolist() == [1, 2]
    assert array(found, "return['csr'].values").size
    assert array(found, "return['q'].int_repr").tolist() == [0, 2, 4]
    assert found.leaves["return['meta']"].kind == "meta"
    assert array(found, "return['conj']").tolist() == [0, 1 - 1j, 2 - 2j]
    assert len(found.leaves["return['half']"].raw) == 3
    assert found.leaves["return['nested']"].kind == "nested"


def test_a_tensor_subclass_keeps_its_class_and_its_elements(execute: Any) -> None:
    source = """
    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})
    def fn(x): return x.as_subclass(Loud) + 1
    """
    found = execute(dedent(source) + INPUTS)
    assert found.leaves["return"].class_name == "Loud"
    assert array(found, "return").tolist() == [1, 2, 3]


# shadow, nudge, bisect


def test_shadow_gives_an_image_beside_each_float_leaf(execute: Any) -> None:
    found = execute("def fn(x): return x / 3, x.long()" + INPUTS, "shadow", poison=0x5A)
    image = found.leaves["return[0]"].shadow
    assert np.array_equal(image, np.arange(3) / 3)
    assert found.leaves["return[1]"].shadow is None
    assert found.facts["exact"] is False
    assert found.facts["plan"]


def test_nudge_bounds_what_rounding_can_do_and_nothing_else(execute: Any) -> None:
    source = "state = []\ndef fn(x):\n    state.append(1)\n    return x / 3, x + 1, len(state)" + INPUTS
    plan = execute(source, "shadow").facts["plan"]
    found = execute(source, "nudge", seeds=list(range(8)), options={"plan": plan})
    moved, still = found.leaves["return[0]"], found.leaves["return[1]"]
    assert (moved.bound("low")[1:] < moved.bound("high")[1:]).all()
    assert np.array_equal(still.bound("low"), still.bound("high"))
    assert found.facts["nudge"]["returned"] == 8


def test_nudge_leaves_nan_out_of_the_bounds_and_tells_of_it(execute: Any) -> None:
    source = "def fn(x): return torch.sqrt(x / 3 - 1 / 3)\ndef get_inputs(): return [torch.ones(64)]"
    plan = execute(source, "shadow").facts["plan"]
    leaf = execute(source, "nudge", seeds=list(range(12)), options={"plan": plan}).leaves["return"]
    assert leaf.nudged_nan.any()
    assert not np.isnan(leaf.bound("low")).any()


def test_bisector_switches_count_and_disable_applications(execute: Any) -> None:
    source = "def fn(x): return torch.nn.functional.gelu(x) + x.std()" + INPUTS
    backend = "aot_eager_decomp_partition"
    ask = {"backend": backend, "subsystem": "decomposition"}
    whole = execute(source, backend=backend, bisect={**ask, "max": 10**6}).facts["bisect"]
    assert whole["count"] > 0
    last = execute(source, backend=backend, bisect={**ask, "max": 0}).facts["bisect"]
    assert last["last"]
    assert execute(source, backend=backend, bisect={**ask, "max": -1}).outcome == "returned"


def test_every_seed_may_define_the_same_operators(execute: Any) -> None:
    source = """
    lib = torch.library.Library("workbench_test", "DEF")
    lib.define("third(Tensor x) -> Tensor")
    lib.impl("third", lambda x: x / 3, "CPU")
    def fn(x): return torch.ops.workbench_test.third(x)
    """
    plan = execute(dedent(source) + INPUTS, "shadow").facts["plan"]
    found = execute(dedent(source) + INPUTS, "nudge", seeds=[0, 1, 2], options={"plan": plan})
    assert found.facts["nudge"]["returned"] == 3


def test_a_mode_that_one_seed_leaves_on_does_not_reach_the_next(execute: Any) -> None:
    source = "def fn(x):\n    y = x @ x\n    torch.set_autocast_enabled('cpu', True)\n    torch.set_default_dtype(torch.float64)\n    return y, torch.ones(1)" + INPUTS
    plan = execute(source, "shadow").facts["plan"]
    found = execute(source, "nudge", seeds=[0, 1, 2], options={"plan": plan})
    assert found.leaves["return[0]"].dtype == "float32"
    assert found.facts["nudge"]["returned"] == 3


def test_a_returned_input_costs_its_bytes_once(execute: Any) -> None:
    found = execute("def fn(x): return x, x[1:]" + INPUTS)
    assert array(found, "return[0]").tolist() == array(found, "inputs[0]").tolist()
    assert array(found, "return[1]").tolist() == [1, 2]
    assert len(found.leaves["return[0]"]._blobs) == 12 + 8


def test_a_traceback_starts_in_the_program(execute: Any) -> None:
    trace = execute("def fn(x): return 1 // 0" + INPUTS).exception.traceback
    assert "runner" not in trace
    assert "program.py" in trace


def test_a_pickle_written_by_the_same_script_finds_its_classes(execute: Any, tmp_path: Any) -> None:
    source = """
    import pickle
    class Net:
        def __call__(self, x): return x + 1
    fn = pickle.loads(b"c__main__\\nNet\\n.")()
    """
    found = execute(dedent(source) + INPUTS, profile="own", folder=str(tmp_path), filename=str(tmp_path / "net.py"))
    assert array(found, "return").tolist() == [1, 2, 3]
