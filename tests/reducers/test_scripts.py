"""Scripts that call torch.compile, as programs in harness form."""

from __future__ import annotations

from reducers.scripts import as_harness

SCRIPT = """
import torch

@torch.compile(dynamic=True)
def f(x):
    return x + 1

if __name__ == "__main__":
    a = torch.ones(2)
    print(f(a))
    b = f(a * 2)
    assert b.sum() == 6
"""


def test_each_compiled_call_becomes_a_program_and_all_of_them_a_drive():
    first, second, driven = as_harness(SCRIPT)
    assert "def f(x):\n    return x + 1" in first
    assert "compile" not in first + second + driven
    assert first.endswith("a = torch.ones(2)\nfn = f\n\ndef get_inputs():\n    return [a]\n")
    assert second.endswith("def get_inputs():\n    return [a * 2]\n")
    assert "results.append(f(a))\n    b = f(a * 2)\n    results.append(b)\n    return results" in driven


def test_programs_that_a_script_becomes_run(tmp_path):
    for text in as_harness(SCRIPT.replace("torch.ones(2)", "1").replace("import torch", "class torch:\n    compile = staticmethod(id)")):
        names: dict = {}
        exec(text.replace("b.sum()", "b"), names)
        drive = names.get("drive", lambda f, inputs: f(*inputs))
        assert drive(names["fn"], names["get_inputs"]()) in (2, 3, [2, 3])


def test_a_wrapped_callable_and_a_module_compiled_in_place_are_found():
    wrapped = "import torch\ndef f(x):\n    return x\ng = torch.compile(f)\ny = g(torch.ones(1))\n"
    assert "g = f" in as_harness(wrapped)[0]
    module = "import torch\nm = torch.nn.Linear(2, 2)\nm.compile()\ny = m(torch.ones(2))\n"
    assert as_harness(module)[0].endswith("fn = m\n\ndef get_inputs():\n    return [torch.ones(2)]\n")


def test_a_script_whose_calls_are_hidden_gives_nothing():
    assert as_harness("import torch\ndef main():\n    return torch.compile(len)([1])\nmain()\n") == []
