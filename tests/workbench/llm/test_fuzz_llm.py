"""``workbench fuzz --llm`` from outside, over HTTP: mutants reach the oracle, the key reaches nothing, stats add up, faults are one line."""

import json
import os
import subprocess
import sys

import pytest
from serving import completion, dead_port, error, fenced, serving

from store import open_store
from store.llm_calls import Asked
from workbench import characteristics
from workbench.commands.fuzz import _mutators, _source
from workbench.fuzz.campaign import Campaign, Settings
from workbench.fuzz.mutators import mutators
from workbench.llm.learn import as_toml

KEY = "sk-canary-0123456789abcdefghij"
PROGRAM = """import torch


def fn(x):
    v = x.t()
    early = x.sum()
    v.add_({n})
    return x * 2, v + 0, early


def get_inputs():
    return [torch.arange(12.0).reshape(3, 4)]
"""


def workbench(tmp_path, *arguments, url="", **environment):
    names = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": url,
        "WORKBENCH_DB": str(tmp_path / "s.db"),
        "OPENAI_LOG": "debug",
        **environment,
    }
    done = subprocess.run([sys.executable, "-m", "workbench", *arguments], capture_output=True, text=True, timeout=500, env=names)
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    return done


def test_fault_at_the_start_is_one_line_and_the_llm_alone_cannot_start(tmp_path):
    done = workbench(tmp_path, "fuzz", "--strategy", "llm", "--tests", "2", url="nonsense")
    assert done.returncode == 2
    assert "OPENAI_BASE_URL='nonsense' is no address" in done.stderr


def test_stats_of_nothing(tmp_path):
    open_store(tmp_path / "s.db").close()
    done = workbench(tmp_path, "stats", "--llm")
    assert "no LLM call yet" in done.stderr
    assert workbench(tmp_path, "stats", "--llm", "--by", "stage").returncode == 2
    assert workbench(tmp_path, "stats", "--llm", "--campaign", "7").returncode == 4
    assert "no campaign yet" in workbench(tmp_path, "stats", "--llm", "--campaign", "0").stderr
    assert workbench(tmp_path, "stats", "--llm", "state:new").returncode == 2
    assert workbench(tmp_path, "stats", "--llm", "--csv").returncode == 2


def test_stats_of_the_latest_campaign_are_not_those_of_all(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        for calls in (3, 1):
            campaign = store.start_campaign({"strategy": "llm", "model": "tiny"})
            for n in range(calls):
                store.add_llm_call(Asked("mutate", "seed/1", "[]", "tiny", "h", f"{campaign} {n}", "valid", campaign=campaign))
    told = json.loads(workbench(tmp_path, "stats", "--llm", "--campaign", "0", "--by", "model", "--json").stdout)
    assert told["model"][0]["calls"] == 1
    assert "model\ttiny" in workbench(tmp_path, "stats", "--campaign", "0").stdout


def test_characteristic_that_no_rule_implements_is_asked_of_the_llm(tmp_path, monkeypatch):
    """What `characteristics accept` says of such a draft: for --llm and labels."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", dead_port())
    characteristics.learned_folder().mkdir(parents=True)
    (characteristics.learned_folder() / "own-idea.toml").write_text(as_toml(characteristics.named("view-then-write")))
    options = {"model": "m", "llm_replay": False, "llm_jobs": 1, **dict.fromkeys(("llm_calls", "llm_tokens", "llm_cost", "llm_minutes"))}
    with open_store(tmp_path / "s.db") as store:

        def wanted(**settings):
            chosen = Settings(**settings)
            campaign = Campaign(store, None, chosen, _mutators(chosen, characteristics.codes()), [], characteristics.codes())
            return set(_source(campaign, None, options).characteristics)

        assert wanted() == set(characteristics.catalogue())
        assert "own-idea" in wanted(focus=("AM",))
        assert "own-idea" not in wanted(focus=("MD",))
        assert wanted(only=("promotion",)) == set(mutators()["promotion"].characteristics)


@pytest.mark.torch
def test_campaign_with_an_llm_and_then_without_its_endpoint(tmp_path):
    """Two of three answers are usable; then the quota is spent, and the rules finish the campaign."""
    numbers = iter(range(100))

    def script(_):
        n = next(numbers)
        if n > 3:
            return error(429, f"You exceeded your current quota, {KEY}", code="insufficient_quota")
        return completion("Sorry.") if n % 3 == 2 else fenced(PROGRAM.format(n=n + 2))

    rules = ("--focus", "AM", "--no-reduce", "--seed", "3", "--jobs", "1")
    with serving(script) as server:
        done = workbench(tmp_path, "fuzz", "--llm", "--tests", "4", "--json", *rules, url=server.url, WORKBENCH_LLM_PRICES="10,5,20")
        assert done.returncode == 0, done.stderr
        assert {h["authorization"] for h in server.headers} == {f"Bearer {KEY}"}
    document = json.loads(done.stdout)
    assert document["tests"] + document["inapplicable"] == 4
    asked = document["llm"]["tiny"]
    assert asked["judged"] >= 1
    told = json.loads(workbench(tmp_path, "stats", "--llm", "--json").stdout)
    assert sum(row["calls"] for row in told["outcome"]) == asked["calls"] == told["model"][0]["calls"]
    assert sum(row["judged"] for row in told["verdict"] if row["value"]) == asked["judged"]
    assert told["model"][0]["cost"] == pytest.approx(asked["cost"])
    lines = workbench(tmp_path, "stats", "--llm").stdout.splitlines()
    assert any(line.startswith("model\ttiny") for line in lines)
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.iterdir())
    alone = workbench(tmp_path, "fuzz", "--llm", "--tests", "1", *rules, url=dead_port())
    assert alone.returncode == 0
    assert alone.stderr.count("cannot be reached") == 1
    assert "the rules go on alone" in alone.stderr


@pytest.mark.torch
def test_key_reaches_no_child_even_of_a_host_that_has_it_in_its_environment():
    """A generated program that looks everywhere it can finds nothing: its own and other processes' environments and command lines."""
    program = """
import glob, os
import torch
key = "".join(reversed("jihgfedcba9876543210-yranac-ks"))
FOUND, LOOKED = [name for name, value in os.environ.items() if key in value], 1
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline") + glob.glob("/proc/*/task/*/environ"):
    try:
        content = open(path, "rb").read()
    except OSError:
        continue
    LOOKED += 1
    if key.encode() in content:
        FOUND.append(path)
del key

def fn(x):
    return x + 1

def get_inputs():
    return [torch.ones(2)]
"""
    host = f"""
import json
from workbench.runner.protocol import Request
from workbench.servers import Pool
with Pool() as pool:
    print(json.dumps(pool.run(Request("run", {program!r})).document))
"""
    done = subprocess.run(
        [sys.executable, "-c", host], capture_output=True, text=True, timeout=300, env={**os.environ, "OPENAI_API_KEY": KEY}
    )
    assert KEY not in done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["outcome"] == "returned"
    told = json.dumps(document)
    assert '"FOUND": []' in told, told[:2000]
    assert '"LOOKED"' in told
