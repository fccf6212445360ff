"""``workbench fuzz`` from outside: the documented document, wrong usage in one line, the same tests again."""

import json
import signal
import subprocess
import sys
import time

import pytest

from store import open_store

KEYS = {"tests", "valid", "mismatches", "noise", "errors", "seconds", "tests_per_second", "by_characteristic", "buckets"}
BUCKET = {"id", "signature", "stage", "symptoms", "codes", "first_seen", "count", "source"}


def workbench(*arguments: str, timeout: float = 400) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "workbench", *arguments], capture_output=True, text=True, timeout=timeout)


def test_wrong_usage_is_one_line_and_a_hint(tmp_path):
    db = ("--db", str(tmp_path / "s.db"))
    for arguments, told in (
        (("--only", "nonsense"), "no mutator 'nonsense'"),
        (("--tests", "3", "--minutes", "1"), "exclude each other"),
        (("--only", "promotion", "--focus", "NT"), "no mutator is left"),
        (("--seeds", str(tmp_path)), "no Python file"),
    ):
        done = workbench("fuzz", *arguments, *db)
        assert done.returncode in (2, 4), done.stderr
        assert told in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.torch
def test_an_interrupted_run_tells_what_is_finished(tmp_path):
    command = [sys.executable, "-m", "workbench", "fuzz", "--jobs", "1", "--no-reduce", "--json", "--only", "promotion"]
    path = tmp_path / "s.db"
    running = subprocess.Popen([*command, "--db", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and running.poll() is None:
        if path.exists():
            with open_store(path) as store:
                if any(c.counters.get("tests") for c in store.campaigns()):
                    break
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    stdout, stderr = running.communicate(timeout=120)
    assert running.returncode == 130, stderr
    document = json.loads(stdout)
    assert set(document) >= KEYS
    assert document["tests"] >= 1


@pytest.mark.torch
def test_a_directed_run_finds_a_real_mismatch_and_tells_the_documented_keys(tmp_path):
    """Directed at shape changes in place (pytorch#185888), live on torch 2.13.0 CPU."""
    rules = ("--only", "metadata_write_of_view")
    done = workbench("fuzz", "--tests", "6", "--seed", "1", "--no-reduce", "--json", *rules, "--db", str(tmp_path / "s.db"))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) >= KEYS
    assert document["tests"] == 6
    assert document["valid"] >= 5
    assert document["mismatches"] >= 1
    assert all(set(b) >= BUCKET for b in document["buckets"])
    assert document["buckets"][0]["codes"] == ["PO"]
    assert "def fn" in document["buckets"][0]["source"] or "class Model" in document["buckets"][0]["source"]


def test_characteristics_and_seeds_are_listed_as_documents():
    listed = json.loads(workbench("characteristics", "list", "--json").stdout)
    assert all(c["mutators"] for c in listed)
    seeds = json.loads(workbench("seeds", "list", "--json").stdout)
    assert len(seeds) >= 80
    assert workbench("characteristics", "show", "nothing").returncode == 4


@pytest.mark.torch
def test_mutate_writes_a_program_that_has_the_characteristic(tmp_path):
    seed = tmp_path / "seed.py"
    seed.write_text("import torch\n\ndef fn(x):\n    return x * 2\n\ndef get_inputs():\n    return [torch.arange(8.0)]\n")
    out = tmp_path / "mutant.py"
    done = workbench("mutate", str(seed), "--characteristic", "zero-size-write", "--seed", "2", "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert "identity_zero_size_write" in done.stderr
    assert out.read_text() != seed.read_text()
