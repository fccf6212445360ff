"""Fuzz, minimize, work and triage at once on one file: nobody fails, nothing is lost, also when one of them is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from store import open_store

ROOT = Path(__file__).parents[2]
HEAD = """
import sys, json, time
from store import open_store
from store.records import *
path, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
def program(n): return Program(f"def fn(x):\\n    y = x + {n}\\n    return y * {n}\\n")
small = Program("def fn(x): return x\\n")
verdict = Verdict(Outcome.MISMATCH, symptoms=(Symptom.VALUE,), stage=Stage.AOT, torch="2.13.0")
def signature(n, final=False): return Signature(Stage.AOT, None, (Symptom.VALUE,), (f"op{n % 5}" if not final else "fn",), final)
"""
ROLES = {
    "fuzz": """
with open_store(path) as store:
    campaign = store.start_campaign({"tests": times})
    for n in range(times):
        row = store.add_finding(program(n), verdict, signature=signature(n), origin="fuzz", campaign=campaign)
        if store.bucket(row.bucket).members == 1:
            store.enqueue("reduce", row.id, actor="fuzz")
        store.update_campaign(campaign, {"tests": n + 1})
    store.finish_campaign(campaign)
""",
    "work": """
done = 0
with open_store(path) as store:
    for n in range(times):
        job = store.claim(["reduce"], name, 30)
        if job is None:
            continue
        store.save_progress(job.finding_id, {"calls": n})
        assert store.renew(job, name, 30)
        store.save_reduction(job.finding_id, small, verdict, signature(0, True), {"calls": n}, final=True)
        assert store.finish(job, {"by": name})
        done += 1
""",
    "triage": """
with open_store(path) as store:
    for n in range(times):
        ids = store.ids("state:new", "id")[:3]
        if ids:
            store.set_state(ids, State.TRIAGED, actor=name)
            store.label(ids, add=["seen"], actor=name)
            store.undo(name)
            store.redo(name)
""",
    "memo": """
with open_store(path) as store:
    for n in range(times):
        store.memo_put(f"{name}{n}", {"verdict": "agree", "n": n})
        assert store.memo_get(f"{name}{n}")["n"] == n
""",
}


def start(role, path, name, times):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HEAD + ROLES[role], str(path), name, str(times)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_four_writers_at_once_none_fails_and_nothing_is_lost(path):
    running = [
        start("fuzz", path, "fuzz", 60),
        start("work", path, "work-1", 60),
        start("triage", path, "ann", 40),
        start("memo", path, "m", 60),
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    with open_store(path) as store:
        assert sound(store)
        assert store.count() == 60
        assert store.campaigns()[0].counters == {"tests": 60}
        assert len(store.jobs()) == len({j.finding_id for j in store.jobs()})
        assert all(store.memo_get(f"m{n}") for n in range(60))
        assert {r.state for r in store.find("label:seen")} <= {"triaged"}


def test_a_new_store_may_be_begun_by_several_at_once(path):
    running = [start("memo", path, f"m{i}-", 3) for i in range(4)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    with open_store(path) as store:
        assert all(store.memo_get(f"m{i}-{n}") for i in range(4) for n in range(3))


def sound(store):
    """SQLite's own check, and that what is kept twice says the same."""
    with store._connection.read() as c:
        return (
            c.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            and not c.execute("PRAGMA foreign_key_check").fetchall()
            and c.execute("SELECT count(*) FROM findings").fetchone() == c.execute("SELECT count(*) FROM findings_fts").fetchone()
            and not c.execute(
                "SELECT 1 FROM findings f, json_each(f.labels) j WHERE NOT EXISTS (SELECT 1 FROM finding_labels WHERE finding_id = f.id AND label = j.value)"
            ).fetchall()
        )


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
def test_kill_in_the_middle_of_writing_leaves_a_good_store(path, after):
    fuzz, triage = start("fuzz", path, "fuzz", 100_000), start("triage", path, "ann", 100_000)
    try:
        wait_for(lambda: path.exists() and count(path) > 10)
        time.sleep(after)
    finally:
        for process in (fuzz, triage):
            process.send_signal(signal.SIGKILL)
            process.communicate()
    with open_store(path) as store:
        assert sound(store)
        known, tests = store.count(), store.campaigns()[0].counters["tests"]
        assert tests in (known, known - 1)  # the finding is kept before the counter that includes it
    again = start("fuzz", path, "fuzz", 5)  # the same five: nobody waits for the dead
    assert again.wait(timeout=60) == 0
    again.communicate()
    assert count(path) == known


def test_lease_of_a_killed_worker_expires_and_the_job_is_taken_again(path, make):
    with open_store(path) as store:
        row = store.add_finding(**make())
        store.enqueue("reduce", row.id, actor="ann")
        text = HEAD + "store = open_store(path)\nprint(json.dumps(store.claim(['reduce'], name, 1).id), flush=True)\ntime.sleep(600)\n"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        worker = subprocess.Popen([sys.executable, "-c", text, str(path), "w1", "0"], env=environment, stdout=subprocess.PIPE, text=True)
        job_id = json.loads(worker.stdout.readline())
        worker.kill()
        worker.communicate()
        assert store.finding(row.id).reduction == "running"
        wait_for(lambda: not store.workers())
        job = store.claim(["reduce"], "w2", 60)
        assert (job.id, job.attempts, job.worker) == (job_id, 2, "w2")


def count(path):
    with open_store(path) as store:
        return store.count()


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)
