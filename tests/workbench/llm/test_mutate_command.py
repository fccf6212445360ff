"""``workbench mutate --llm`` from outside, against a replay server over HTTP: programs, repair, replay from the store, one line for every fault."""

import json
import os
import subprocess
import sys

import pytest
from serving import Reply, completion, dead_port, error, fenced, serving

from store import open_store

KEY = "sk-canary-0123456789abcdefghij"

SEED = "import torch\n\n\ndef fn(x):\n    return x * 2\n\n\ndef get_inputs():\n    return [torch.arange(12.0).reshape(3, 4)]\n"
GOOD = SEED.replace("    return", "    x.t().add_(1)\n    return", 1)
BAD = GOOD.replace("add_(1)", "add_(torch.ones(7))")


@pytest.fixture
def workbench(tmp_path):
    """``workbench(url, *arguments)`` runs the command with the canary key in its environment."""
    seed = tmp_path / "seed.py"
    seed.write_text(SEED)

    def run(url, *arguments, characteristic="view-then-write", **environment):
        names = {"OPENAI_API_KEY": KEY, "WORKBENCH_DB": str(tmp_path / "s.db"), "OPENAI_LOG": "debug"}
        names |= {"OPENAI_BASE_URL": url} if url else {}
        command = [sys.executable, "-m", "workbench", "mutate", str(seed), "--characteristic", characteristic, "--llm", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **names, **environment})
        assert "Traceback" not in done.stderr
        assert KEY not in done.stdout + done.stderr
        return done

    return run


def calls(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        return store.llm_calls()[::-1]


@pytest.mark.torch
def test_answer_that_fails_in_eager_is_repaired_kept_and_replayed_without_a_network(workbench, tmp_path):
    with serving([fenced(BAD), fenced(GOOD)]) as server:
        done = workbench(server.url, "--json", WORKBENCH_LLM_PRICES="10,5,20")
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
    assert "x.t().add_(1)" in document["source"]
    assert document["characteristics"] == ["view-then-write"]
    assert document["chain"][0].startswith("llm:view-then-write ")
    first, second = calls(tmp_path)
    assert [(c.purpose, c.outcome, c.parent, c.replayed) for c in (first, second)] == [
        ("mutate", "eager", None, False),
        ("repair", "valid", first.id, False),
    ]
    assert (first.model, first.answered_by, first.characteristic, first.prompt) == (
        "tiny",
        "tiny",
        "view-then-write",
        "contract/1 characteristic/1 example/1 seed/1",
    )
    assert first.cost == pytest.approx((50 * 10 + 250 * 5 + 60 * 20) / 1e6)
    sent = server.asked[1]["messages"]
    assert "RuntimeError" in sent[-1]["content"]
    assert sent[:4] == server.asked[0]["messages"]
    again = workbench("", "--json", "--llm-replay")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["source"] == document["source"]
    assert [c.replayed for c in calls(tmp_path)] == [False, False, True, True]
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.iterdir())


def test_answers_without_an_idea_are_not_repaired_and_the_end_is_told(workbench, tmp_path):
    with serving([fenced(SEED), completion("I refuse.", finish="content_filter"), fenced(SEED.replace("2", "3"))]) as server:
        done = workbench(server.url)
    assert done.returncode == 2
    assert "no usable mutant in 3 answers of tiny" in done.stderr
    assert [c.outcome for c in calls(tmp_path)] == ["duplicate", "finish", "characteristic"]
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (error(401, "bad key " + KEY), "refuses the key (401: bad key [key])"),
        (error(404, "no model tiny"), "has no such model"),
        (error(429, "spent", code="insufficient_quota"), "the quota is spent"),
        (Reply(200, "<html>hello</html>", {"content-type": "text/html"}), "sent something else than a chat completion"),
    ],
)
def test_fault_is_one_line_and_a_hint(workbench, tmp_path, reply, told):
    with serving([reply]) as server:
        done = workbench(server.url)
    assert done.returncode == 2
    assert told in done.stderr
    assert [line.split(":")[0] for line in done.stderr.splitlines() if line.startswith(("error", "hint"))] == ["error", "hint"]
    (call,) = calls(tmp_path)
    assert call.outcome in ("auth", "model", "quota", "malformed")


def test_nobody_there_several_models_no_budget_nothing_recorded(workbench, tmp_path):
    assert "cannot be reached" in workbench(dead_port()).stderr
    assert "nothing to replay" in workbench("", "--llm-replay").stderr
    with serving([fenced(GOOD)], models=("big", "small")) as server:
        assert "offers big, small" in workbench(server.url).stderr
        assert "budget is spent: 0 of 0 calls" in workbench(server.url, "--model", "big", "--llm-calls", "0").stderr
        assert "without prices" in workbench(server.url, "--model", "big", "--llm-cost", "1").stderr
        server.script = [error(401, "no")]
        workbench(server.url, OPENAI_MODEL="small")
    assert server.asked[0]["model"] == "small"


def test_usage(workbench):
    assert "OPENAI_API_KEY is not set" in workbench("", OPENAI_API_KEY="", OPENAI_BASE_URL="").stderr
    done = workbench("http://127.0.0.1:9/v1", "--mutator", "promotion")
    assert "--llm needs --characteristic" in done.stderr
    assert workbench("", characteristic="nothing").returncode == 4
