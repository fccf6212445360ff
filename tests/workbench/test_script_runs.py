"""Scripts as people paste them, through real servers: what of them is judged, and what is not."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from store.records import Outcome, Stage, Symptom, Verdict
from workbench.oracle.judge import Judge
from workbench.oracle.observation import Observation
from workbench.oracle.runs import Setting
from workbench.programs import parse_program
from workbench.runner.protocol import Limits, Request
from workbench.servers import Pool

pytestmark = pytest.mark.torch

LIMITS = Limits(seconds=150)


@pytest.fixture
def check(pool: Pool) -> Any:
    def judge(source: str, **setting: Any) -> Verdict:
        overrides = setting.pop("overrides", {})
        place = Setting(limits=LIMITS, said=frozenset(overrides), **setting)
        return Judge(pool).check(parse_program("import torch\n" + dedent(source), "script.py", overrides), setting=place)

    return judge


@pytest.fixture
def execute(pool: Pool) -> Any:
    def run(source: str, action: str = "run", backend: str | None = None, **options: Any) -> Observation:
        done = pool.run(Request(action, "import torch\n" + dedent(source), backend=backend, options=options))
        assert done.document is not None, (done.status, done.detail, done.output)
        return Observation(done.document, done.blobs)

    return run


# what a script is


def test_a_file_that_compiles_nothing_is_told_what_a_program_needs(execute: Any) -> None:
    found = execute("x = torch.compile(torch.sin)\n")
    assert found.outcome == "invalid"
    assert "no compiled call" in found.exception.message
    assert "calls torch.compile itself" in found.exception.message


def test_the_main_guard_runs_and_calls_are_named_by_function_and_line(execute: Any) -> None:
    found = execute(
        """
        def double(x):
            return x * 2
        if __name__ == "__main__":
            torch.compile(double)(torch.ones(2))
        """
    )
    assert found.facts["form"] == "script"
    assert [call.facts["call"]["name"] for call in found.calls] == ["double"]
    assert found.calls[0].facts["call"]["line"] == 6


def test_a_file_with_harness_form_and_compiled_calls_is_in_harness_form(execute: Any) -> None:
    found = execute("def fn(x): return x + 1\ndef get_inputs(): return [torch.ones(2)]\nprint(torch.compile(fn)(torch.ones(2)))\n")
    assert "form" not in found.facts
    assert found.leaves["return"].array.tolist() == [2, 2]


def test_harness_form_by_execution_counts_whatever_the_text_says(execute: Any) -> None:
    found = execute("exec('def fn(x): return x + 1\\ndef get_inputs(): return [torch.ones(2)]')\ntorch.compile(fn)(torch.ones(2))\n")
    assert found.leaves["return"].array.tolist() == [2, 2]


def test_every_way_to_compile_is_seen_and_only_outermost_calls_count(execute: Any) -> None:
    found = execute(
        """
        import functools
        @torch.compile(backend="eager")
        def inner(x): return x + 1
        @torch._dynamo.optimize("eager")
        def outer(x): return inner(x) * 2
        class Net(torch.nn.Module):
            def forward(self, x): return x - 1
        in_place, wrapped = Net(), torch.compile(Net(), backend="eager")
        in_place.compile(backend="eager")
        x = torch.ones(2)
        for f in (inner, outer, in_place, wrapped, torch.compile(torch.sin, backend="eager")):
            f(x)
        torch.compile(lambda x: x, disable=True)(x)
        """,
        backend="inductor",
    )
    assert [c.facts["call"]["name"] for c in found.calls] == ["inner", "outer", "Net", "Net", "sin"]
    assert found.facts["compiled_frames"] >= 5
    assert {c.facts["call"]["backend"] for c in found.calls} == {"eager"}


def test_eager_runs_compile_nothing_even_when_the_script_sets_the_stance(execute: Any) -> None:
    found = execute(
        """
        @torch.compile(backend="eager")
        def f(x): return x + torch.compiler.is_compiling()
        torch.compiler.set_stance("default")
        f(torch.zeros(1))
        """
    )
    assert found.calls[0].leaves["return"].array.tolist() == [0]


def test_marks_on_arguments_survive(execute: Any) -> None:
    """Cloned arguments would lose ``mark_dynamic``; a specialising function then passes where torch refuses."""
    found = execute(
        """
        x = torch.ones(7)
        torch._dynamo.mark_dynamic(x, 0)
        @torch.compile(backend="eager", fullgraph=True)
        def f(x):
            assert x.shape[0] == 7
            return x.view(7) + 1
        try:
            f(x)
        except Exception as error:
            print(type(error))
        """,
        backend="eager",
    )
    assert found.calls[0].outcome == "raised"
    assert "marked" in found.calls[0].exception.message


# overrides


def test_an_override_applies_to_every_call(execute: Any) -> None:
    """Backend eager keeps the identity that aot_eager and inductor copy."""
    source = """
        def f(x): return torch.nn.functional.dropout(x, 0.5, training=False)
        torch.compile(f, mode="max-autotune")(torch.ones(2))
        torch.compile(f, dynamic=True, options={"max_autotune": True})(torch.ones(3))
        torch._dynamo.optimize("inductor")(f)(torch.ones(4))
        """
    found = execute(source, backend="eager", override=["backend"])
    assert [c.facts["call"]["backend"] for c in found.calls] == ["eager"] * 3
    assert [c.aliases for c in found.calls] == [{("return", "inputs[0]")}] * 3


def test_an_unknown_backend_is_invalid_only_when_it_is_asked_for(execute: Any) -> None:
    source = "torch.compile(torch.sin, backend='eager')(torch.ones(2))\n"
    assert execute(source, backend="nonsense").outcome == "returned"
    assert execute(source, backend="nonsense", override=["backend"]).outcome == "invalid"


# what is judged


def test_an_identity_that_aot_copies_is_found_in_a_pasted_issue(check: Any) -> None:
    """Live on 2.13: dropout in eval returns its very input in eager, a copy from aot_eager on."""
    verdict = check(
        """
        model = torch.nn.Sequential(torch.nn.Dropout(0.5)).eval()
        compiled = torch.compile(model, backend="aot_eager")
        x = torch.arange(4.0)
        y = compiled(x)
        y.add_(1)
        print("BUG" if not torch.equal(x, y) else "fine")
        assert torch.equal(x, y)
        """
    )
    assert (verdict.outcome, verdict.stage) == (Outcome.MISMATCH, Stage.AOT)
    assert Symptom.ALIAS in verdict.symptoms
    assert "calls[0].after.inputs[0]" in {d.path for d in verdict.differences}


def test_a_difference_is_told_once_where_it_first_shows(check: Any) -> None:
    verdict = check(
        """
        @torch.compile(backend="eager")
        def f(x): return x + torch.compiler.is_compiling()
        f(f(torch.zeros(2)))
        """
    )
    assert [(d.path, d.symptom) for d in verdict.differences] == [("calls[0].return", Symptom.VALUE)]
    assert verdict.symptoms == (Symptom.VALUE,)


def test_the_scripts_own_checks_do_not_decide(check: Any) -> None:
    verdict = check(
        """
        @torch.compile(backend="eager")
        def f(x): return x * 3
        assert f(torch.ones(2)).sum() == 7, "wrong on both sides"
        torch.testing.assert_close(f(torch.ones(3)), torch.zeros(3))
        f(torch.ones(4))
        raise SystemExit(1)
        """
    )
    assert (verdict.outcome, len(verdict.calls)) == (Outcome.AGREE, 3)


def test_a_training_loop_agrees(check: Any) -> None:
    verdict = check(
        """
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        step = torch.compile(net, backend="aot_eager")
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        for _ in range(4):
            x = torch.randn(16, 4)
            loss = (step(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item())
        """
    )
    assert (verdict.outcome, len(verdict.calls)) == (Outcome.AGREE, 4)


WRONG_BACKWARD = """
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 3.0 if torch.compiler.is_compiling() else 2.0
            return x * 2
        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor
    @torch.compile(backend="aot_eager")
    def f(x, scale=1.0): return Double.apply(x) * scale
    w = torch.ones(3, requires_grad=True)
    """


def test_a_gradient_that_the_script_computes_is_compared_and_later_steps_cascade(check: Any) -> None:
    verdict = check(
        WRONG_BACKWARD
        + """
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        f(w, scale=2.0).sum().backward()
        optimizer.step()
    """
    )
    assert (verdict.outcome, verdict.differences[0].path) == (Outcome.MISMATCH, "calls[0].gradients.inputs[0]")
    assert Symptom.GRADIENT in verdict.symptoms
    assert all(c.reason.startswith("cascade") for c in verdict.calls[1:])


def test_gradients_of_variables_behind_the_inputs_and_of_autograd_grad_are_compared(execute: Any) -> None:
    source = WRONG_BACKWARD + "\n    f(w * 1).sum().backward()\n    torch.autograd.grad(f(w).sum(), w)\n"
    eager, compiled = execute(source), execute(source, backend="aot_eager")
    for number, path in ((0, "gradients.w"), (1, "gradients.grad0[0]")):
        sides = [side.calls[number].leaves[path].array.tolist() for side in (eager, compiled)]
        assert sides == [[2] * 3, [3] * 3]


def test_a_global_that_a_compiled_call_leaves_wrong_is_seen(execute: Any) -> None:
    source = """
        seen = []
        def note(x):
            if not torch.compiler.is_compiling():
                seen.append(1)
            return x
        @torch.compile(backend="eager")
        def f(x): return note(x) + 1
        f(torch.ones(2))
        """
    eager, compiled = execute(source), execute(source, backend="eager")
    assert eager.calls[0].python["globals"] != compiled.calls[0].python["globals"]


def test_a_number_that_came_from_an_earlier_result_is_no_difference_by_itself(execute: Any) -> None:
    source = """
        @torch.compile(backend="eager")
        def f(x, scale): return x * scale
        f(torch.ones(2), 1.0 + torch.compiler.is_compiling() * 0)
        """
    assert execute(source).calls[0].python["inputs"] == {"unchanged": True}


def test_calls_under_vmap_and_grad_are_read_inside_the_wrappers(execute: Any) -> None:
    found = execute(
        """
        square = torch.compile(lambda x: (x * x).sum(), backend="eager")
        torch.func.grad(square)(torch.arange(3.0))
        torch.vmap(square)(torch.ones(2, 3))
        """
    )
    assert [c.leaves["return.value"].array.tolist() for c in found.calls] == [5, [3, 3]]
    assert found.calls[0].leaves["gradients.grad0[0].value"].array.tolist() == [0, 2, 4]


def test_a_large_tensor_that_stays_as_it_was_is_known_by_its_digest(execute: Any) -> None:
    source = """
        net = torch.nn.Linear(1024, 1024)
        c = torch.compile(net, backend="eager")
        c(torch.ones(1, 1024))
        with torch.no_grad():
            net.weight.add_(1)
        c(torch.ones(1, 1024))
        """
    first, second = execute(source).calls
    assert first.leaves["parameters.weight"].array is None
    assert first.leaves["parameters.weight"].digest != first.leaves["after.parameters.weight"].digest
    assert second.leaves["parameters.weight"].array is not None
    assert second.leaves["parameters.weight"].raw == first.leaves["after.parameters.weight"].raw


def test_random_numbers_and_rounding_between_calls_are_noise_at_most(check: Any) -> None:
    verdict = check(
        """
        @torch.compile
        def f(x): return torch.nn.functional.dropout(torch.softmax(x, -1), 0.5)
        for _ in range(2):
            f(torch.randn(8, 33))
        """
    )
    assert verdict.outcome is Outcome.NOISE
    assert {c.outcome for c in verdict.calls} <= {Outcome.NOISE, Outcome.AGREE}


# own files


def test_siblings_arguments_and_a_checkpoint_are_found(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "mynet.py").write_text("import torch\nclass Net(torch.nn.Linear): pass\n")
    (tmp_path / "main.py").write_text(
        dedent(
            """
            import pathlib, sys, torch
            from mynet import Net
            net = Net(3, int(sys.argv[1]))
            torch.compile(net, backend="eager")(torch.ones(1, 3))
            assert pathlib.Path(__file__).with_name("weights.txt").read_text() == "1"
            net(torch.ones(1, 3))
            """
        )
    )
    (tmp_path / "weights.txt").write_text("1")
    text = (tmp_path / "main.py").read_text()
    setting = Setting("own", str(tmp_path), ("2",), LIMITS)
    verdict = Judge(pool).check(parse_program(text, "main.py"), setting=setting)
    assert (verdict.outcome, verdict.calls[0].file) == (Outcome.AGREE, "main.py:5 Net")


# tests of a test file

TESTS = """
    import unittest
    class TestDropout(unittest.TestCase):
        def setUp(self):
            self.x = torch.ones(3)
        def test_identity(self):
            f = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5, training=False), backend="aot_eager")
            self.assertIs(f(self.x), self.x)
        def test_wrong_expectation(self):
            f = torch.compile(torch.sin, backend="eager")
            self.assertEqual(f(self.x)[0].item(), 5)
            f(self.x)
        @unittest.skip("not today")
        def test_skipped(self): pass
    class TestPlain:
        def setup_method(self, method):
            self.x = torch.ones(2)
        def test_method(self):
            torch.compile(torch.cos, backend="eager")(self.x)
    def test_fixture(tmp_path): pass
    def test_nothing(): pass
    class Mark:
        name, args = "parametrize", ("n", [1, 2, 3])
    def test_each(n):
        torch.compile(torch.cos, backend="eager")(torch.ones(n))
    test_each.pytestmark = [Mark]
    if __name__ == "__main__":
        raise SystemExit("not as a script")
    """


def test_a_unittest_is_judged_by_its_compiled_calls(check: Any) -> None:
    verdict = check(TESTS, test="TestDropout::test_identity")
    assert (verdict.outcome, verdict.stage, verdict.symptoms) == (Outcome.MISMATCH, Stage.AOT, (Symptom.ALIAS,))
    verdict = check(TESTS, test="TestDropout::test_wrong_expectation")
    assert (verdict.outcome, len(verdict.calls)) == (Outcome.AGREE, 2)


@pytest.mark.parametrize(("test", "calls"), [("TestPlain::test_method", 1), ("test_each", 3)])
def test_plain_tests_run_with_their_parameters(execute: Any, test: str, calls: int) -> None:
    assert len(execute(TESTS, test=test).calls) == calls


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("TestDropout::test_skipped", "skips itself: not today"),
        ("test_fixture", "wants the fixtures tmp_path"),
        ("test_nothing", "makes no compiled call"),
        ("test_missing", "there is no test test_missing"),
        ("TestPlain::test_method[1]", "name a test as"),
    ],
)
def test_a_test_that_cannot_be_judged_says_why(execute: Any, test: str, words: str) -> None:
    found = execute(TESTS, test=test)
    assert found.outcome == "invalid"
    assert words in found.exception.message
