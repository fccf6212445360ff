"""A real llama.cpp server on loopback: protocol, usage, prefix cache, repeatable sampling, a real campaign. Opt-in: ``make llm-test``."""

import json
import os
import subprocess
import sys

import pytest
from llama import KEY, NAME, llama, missing

from store import open_store
from workbench.characteristics import named
from workbench.llm import prompts, secret
from workbench.llm.caller import Caller
from workbench.llm.client import Client
from workbench.llm.endpoint import Endpoint
from workbench.llm.errors import LLMError
from workbench.seeds import bundled

pytestmark = [pytest.mark.llm, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]


@pytest.fixture(scope="module")
def url():
    with llama() as address:
        yield address


@pytest.fixture
def client(url, monkeypatch):
    monkeypatch.setattr(secret, "_taken", [KEY])
    return Client(Endpoint(url, NAME))


def prompt(seed=0):
    return prompts.mutation(named("view-then-write"), bundled()[seed].program.source)


def test_answer_usage_and_the_only_model(client):
    assert client.models() == [NAME]
    answer = client.complete(prompt().messages, NAME, {"temperature": 0.8, "max_tokens": 40, "seed": 1})
    assert answer.text
    assert answer.finish in ("stop", "length")
    assert answer.prompt_tokens > 300
    assert 0 < answer.completion_tokens <= 40


def test_fixed_front_of_the_prompt_is_answered_from_the_servers_cache(client):
    parameters = {"temperature": 0.0, "max_tokens": 4, "seed": 1}
    client.complete(prompt(1).messages, NAME, parameters)
    answer = client.complete(prompt(2).messages, NAME, parameters)
    assert answer.cached_tokens > 0.6 * answer.prompt_tokens


def test_same_sampling_seed_gives_the_same_text(client):
    asked = [client.complete(prompt().messages, NAME, {"temperature": 0.8, "max_tokens": 30, "seed": 7}).text for _ in range(3)]
    assert asked[1] == asked[2]  # the first fills the prefix cache, and computes its prompt in other batches


def test_wrong_key_and_prompt_too_long_are_told(client, url, monkeypatch):
    long = [{"role": "user", "content": "word " * 9000}]
    with pytest.raises(LLMError) as caught:
        client.complete(long, NAME, {"max_tokens": 4})
    assert caught.value.kind == "request"
    assert "4096" in caught.value.message
    monkeypatch.setattr(secret, "_taken", ["wrong-key-0123456789"])
    with pytest.raises(LLMError) as caught:
        Client(Endpoint(url, NAME)).complete(prompt().messages, NAME, {"max_tokens": 4})
    assert caught.value.kind == "auth"


def test_calls_are_kept_with_what_the_server_counted(client, url, tmp_path):
    with open_store(tmp_path / "s.db") as store:
        caller = Caller(store, Endpoint(url, NAME), max_tokens=16, client=client)
        caller.keep(caller.ask(prompt(), "mutate", sample=1), "truncated")
        (call,) = store.llm_calls()
    assert call.prompt_tokens > 300
    assert call.milliseconds > 0
    assert call.answered_by == NAME


def test_a_real_campaign_ends_and_its_numbers_add_up(url, tmp_path):
    """Figures are printed; nothing is promised about a model this small but that every answer is accounted for."""
    environment = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "WORKBENCH_DB": str(tmp_path / "s.db")}
    command = [sys.executable, "-m", "workbench", "fuzz", "--strategy", "llm", "--llm-calls", "8", "--no-reduce", "--json", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, env=environment)
    assert "Traceback" not in done.stderr
    assert "8 of 8 calls" in done.stderr
    told = json.loads(done.stdout)["llm"][NAME]
    assert told["calls"] == 8
    assert told["judged"] == told["valid"] <= 8
    assert told["completion_tokens"] > 0
    print(told)  # noqa: T201
