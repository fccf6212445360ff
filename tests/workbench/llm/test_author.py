"""One mutant: what is asked again, with what, how often; what is answered from the store."""

from contextlib import nullcontext

import pytest
from serving import completion, error, fenced, serving

from store import open_store
from store.records import Program
from workbench.characteristics import named
from workbench.errors import RunnerError
from workbench.llm import gates
from workbench.llm.author import Author
from workbench.llm.budget import Budget, Purse
from workbench.llm.caller import Caller
from workbench.llm.client import Client
from workbench.llm.endpoint import Endpoint, Prices
from workbench.llm.errors import LLMError
from workbench.seeds import Seed
from workbench.servers import Run

SOURCE = "import torch\n\n\ndef fn(x):\n    return x * 2\n\n\ndef get_inputs():\n    return [torch.arange(12.0).reshape(3, 4)]\n"
SEED = Seed("seed", Program(SOURCE, name="seed:seed"), "bundled")
GOOD = SOURCE.replace("    return", "    x.t().add_(1)\n    return", 1)
BAD = GOOD.replace("add_(1)", "add_(torch.ones(7))")


class Eager:
    """Stands for the pool: programs that add ones(7) raise."""

    def run(self, request):
        if "ones(7)" in request.source:
            return Run("ok", {"outcome": "raised", "exception": {"class": "RuntimeError", "message": "size of tensor a (3)\nmore"}}, {})
        return Run("ok", {"outcome": "returned"}, {})


@pytest.fixture
def write(tmp_path):
    """``write(replies, sample, ...)``: what came of it, the server, the calls in the store."""

    def run(replies, sample=0, fails=False, prices=None, **more):
        with serving(replies) as server, open_store(tmp_path / "s.db") as store:
            where = Endpoint(server.url, "tiny", prices=prices)
            author = Author(Caller(store, where, client=None if more.get("offline") else Client(where, backoff=0.01), **more), Eager())
            written = None
            with pytest.raises(LLMError) if fails else nullcontext():
                written = author.write(named("view-then-write"), SEED, sample=sample)
            return written, server, [store.llm_calls()[-1 - i] for i in range(len(store.llm_calls()))]

    return run


def test_program_that_eager_refuses_is_shown_with_the_reason_at_most_twice(write):
    written, server, calls = write([fenced(BAD)])
    assert (written.outcome, written.mutant, len(written.calls)) == ("eager", None, 3)
    assert [(c.purpose, c.outcome, c.parent) for c in calls] == [("mutate", "eager", None), ("repair", "eager", 1), ("repair", "eager", 2)]
    last = server.asked[2]["messages"]
    assert [m["role"] for m in last] == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert "plain PyTorch does not run it (raised): RuntimeError: size of tensor a (3)" in last[-1]["content"]
    assert "ones(7)" in last[-2]["content"]


def test_repaired_program_is_a_mutant_of_its_seed(write):
    written, *_ = write([completion("no program"), fenced(BAD), fenced(GOOD)])
    mutant = written.mutant
    assert (mutant.seed, mutant.mutators, mutant.characteristics, mutant.valid) == ("seed", ("llm",), ("view-then-write",), True)
    assert mutant.chain == ("llm:view-then-write add! t~",)
    assert mutant.program.name == "seed:seed"


@pytest.mark.parametrize("answer", [fenced(SOURCE), fenced(SOURCE.replace("2", "3")), completion(GOOD, finish="content_filter")])
def test_no_idea_is_no_reason_to_ask_again(write, answer):
    written, server, _ = write([answer])
    assert written.mutant is None
    assert len(server.asked) == 1


def test_cut_answer_is_asked_for_once_more_with_twice_the_room(write):
    written, server, _ = write([completion("```python\nimport", finish="length")])
    assert [r["max_tokens"] for r in server.asked] == [1024, 2048]
    assert (written.outcome, len(written.calls)) == ("truncated", 2)


def test_same_question_is_answered_from_the_store_and_another_sample_is_another_question(write):
    first, *_ = write([fenced(BAD), fenced(GOOD)])
    second, server, calls = write([fenced(BAD), fenced(GOOD)])
    assert (server.asked, second.mutant.program) == ([], first.mutant.program)
    assert [c.replayed for c in calls] == [False, False, True, True]
    _, server, _ = write([fenced(GOOD)], sample=1)
    assert [r["seed"] for r in server.asked] == [1]
    offline, server, _ = write([], offline=True, model="tiny")
    assert offline.mutant.program == first.mutant.program
    with pytest.raises(LLMError) as caught:
        write([], sample=9, offline=True, model="tiny")
    assert caught.value.kind == "unrecorded"


def test_answer_is_kept_before_it_is_run(write, monkeypatch):
    """What was paid for outlives a killed command, or a server that dies under the program."""

    def killed(self, request):
        raise RunnerError("the server died")

    monkeypatch.setattr(Eager, "run", killed)
    with pytest.raises(RunnerError):
        write([fenced(GOOD)])
    monkeypatch.undo()
    again, server, calls = write([])
    assert [(c.outcome, c.replayed) for c in calls] == [("unread", False), ("valid", True)]
    assert server.asked == []
    assert again.mutant is not None


def test_nothing_in_the_store_holds_the_key(write, key, tmp_path):
    """An endpoint that repeats it wherever it can."""
    echo = completion(f"```python\n# {key}\n{GOOD}```", finish="stop", model=key, id=key)
    write([error(401, f"{'x' * 190}{key}")], fails=True)
    write([completion(GOOD, finish=f"{key} {key}")], sample=1, model=key)
    written, *_ = write([echo], sample=2, model=key)
    assert "[key]" in written.mutant.program.source
    assert b"sk-canary" not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


def test_failed_call_is_kept_with_what_was_sent(write):
    _, _, calls = write([error(400, "no")], fails=True)
    assert (calls[0].outcome, calls[0].parameters["max_tokens"], calls[0].parameters["seed"]) == ("request", 1024, 0)


def test_server_that_counts_no_tokens_spends_the_budget_and_is_given_no_figures(write):
    uncounted = completion("no program", usage={"prompt_tokens": None})
    purse = Purse(Budget(cost=0.001))
    with pytest.raises(LLMError) as caught:
        write([uncounted], purse=purse, prices=Prices(10, 10, 10))
    assert caught.value.kind == "budget"
    assert purse.cost > 0.001
    _, _, calls = write([], fails=True, offline=True, model="tiny")
    assert [(c.cost, c.completion_tokens) for c in calls if not c.replayed] == [(None, 0)]


def test_only_an_ops_own_refusal_counts_as_raising_on_purpose():
    class Raises:
        def __init__(self, kind):
            self.kind = kind

        def run(self, request):
            return Run("ok", {"outcome": "raised", "exception": {"class": self.kind, "message": "x"}}, {})

    context = gates.Context("lost-validation", SEED.program, (), raises_ok=True)
    answer = f"```python\n{GOOD}```"
    assert gates.gate(answer, "stop", context, Raises("RuntimeError")).raises
    assert gates.gate(answer, "stop", context, Raises("NameError")).outcome == "eager"


def test_what_was_mended_is_told(write):
    written, _, calls = write([fenced(GOOD.replace("import torch\n", "") + "print(fn(get_inputs()[0]))\n")])
    assert written.mutant is not None
    assert calls[0].detail == "beside imports"
