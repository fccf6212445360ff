"""How fast the store is over 100,000 findings, and how fast it takes new ones. Prints figures; asserts on answers only, never on the clock."""

# ruff: noqa: T201 - what a benchmark prints is its answer

import random
import sqlite3
import time

import pytest

from store import filters, open_store
from store.records import Difference, Outcome, Program, Signature, Stage, State, Symptom, Verdict

pytestmark = pytest.mark.benchmark

ROWS = 100_000
ADDED = 2_000
OPS = ("flip add", "softmax", "index_put cumsum", "view mul expand", "argmin t", "matmul div", "scatter", "roll sub", "sort", "pow exp log")
QUERIES = (
    "", "state:new", "state:open", "-state:new", "stage:inductor", "symptom:nan", "symptom:value -label:flaky", "code:AM", "op:softmax",
    "op:ind*", "dtype:f16", "backend:aot_eager", "label:flaky", "bucket:17", "torch:>=2.12", "age:<7d", "seen:>30d", "size:10..40", "who:ann",
    "softm", '"wrong value"', "wrong", "w", "state:new op:softmax -label:flaky dtype:f16 age:<7d", "-softmax", "who:none size:<20 state:triaged",
)  # fmt: skip
ORDERS = ("-id", "id", "-seen", "size", "state", "title", "-count")


def finding(number: int, rng: random.Random) -> dict:
    ops = tuple(rng.choice(OPS).split())
    symptom, stage = rng.choice(list(Symptom)), rng.choice(list(Stage))
    difference = Difference("return", symptom, rng.choice(["float32", "float16", "int64", "bfloat16"]), (4,), 1)
    verdict = Verdict(
        Outcome.MISMATCH, "differs", (symptom,), stage=stage, differences=(difference,), torch=rng.choice(["2.11.0", "2.12.1", "2.13.0"])
    )
    lines = "\n".join(f"    x = x + {number} * {i}" for i in range(rng.randrange(3, 30)))
    program = Program(f"import torch\n\n\ndef fn(x):\n{lines}\n    return x\n\n\ndef get_inputs():\n    return [torch.ones(4)]\n")
    signature = Signature(stage, None, (symptom,), (*ops, f"variant{rng.randrange(20)}"))
    return {
        "program": program,
        "verdict": verdict,
        "signature": signature,
        "origin": "fuzz",
        "characteristic": rng.choice(["AM-x", "BV-y", "LC-z"]),
    }


def multiply(path):
    """Copies of what was added, with other times, until there are ROWS: adding them all the ordinary way takes minutes."""
    raw = sqlite3.connect(path)
    columns = [row[1] for row in raw.execute("PRAGMA table_info(findings)")]
    changed = {"id": "id + :shift", "uid": "uid || '-' || :shift"}
    changed |= {
        name: f"strftime('%Y-%m-%dT%H:%M:%fZ', {name}, '-' || (id % 97) || ' days', '-' || :shift || ' seconds')"
        for name in ("created", "seen")
    }
    chosen = ", ".join(changed.get(name, name) for name in columns)
    with raw:
        for shift in range(ADDED, ROWS, ADDED):
            raw.execute(f"INSERT INTO findings SELECT {chosen} FROM findings WHERE id <= {ADDED}", {"shift": shift})
            for table, term in (("finding_symptoms", "symptom"), ("finding_ops", "op")):
                raw.execute(f"INSERT INTO {table} SELECT {term}, finding_id + ? FROM {table} WHERE finding_id <= {ADDED}", (shift,))
            raw.execute(
                f"INSERT INTO findings_fts (rowid, title, ops, program) SELECT rowid + ?, title, ops, program FROM findings_fts WHERE rowid <= {ADDED}",
                (shift,),
            )
    raw.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("speed") / "store.db", random.Random(0)
    with open_store(path) as store:
        one = time.perf_counter()
        for number in range(200):
            store.add_finding(**finding(number, rng))
        print(f"\n{200 / (time.perf_counter() - one):10,.0f} findings/s, a transaction each")
        begin = time.perf_counter()
        with store.together():
            for number in range(200, ADDED):
                store.add_finding(**finding(number, rng))
        print(f"{(ADDED - 200) / (time.perf_counter() - begin):10,.0f} findings/s in one transaction")
    multiply(path)
    with open_store(path) as store:
        ids = store.ids()
        print(f"{path.stat().st_size / 1e6:10,.0f} MB for {len(ids):,}")
        begin = time.perf_counter()
        store.label(rng.sample(ids, 5000), add=["flaky"], actor="bench")
        store.assign(rng.sample(ids, 20_000), "ann", actor="bench")
        store.set_state(rng.sample(ids, 10_000), State.TRIAGED, actor="bench")
        print(f"{time.perf_counter() - begin:10.2f} s to label 5,000, assign 20,000 and move 10,000")
        begin = time.perf_counter()
        store.undo("bench")
        store.redo("bench")
        print(f"{time.perf_counter() - begin:10.2f} s to undo and redo the 10,000 moves")
    return path


def test_filters_over_100_000_findings(filled):
    with open_store(filled, readonly=True) as store:
        print(f"\n{'filter':55} {'found':>8} {'ids ms':>8} {'(cpu)':>8} {'count ms':>9} {'(cpu)':>8}")
        for text in QUERIES:
            found, ids_ms, ids_cpu = timed(lambda text=text: store.ids(text))
            number, count_ms, count_cpu = timed(lambda text=text: store.count(text))
            print(f"{text or '(all)':55} {len(found):8,} {ids_ms:8.1f} {ids_cpu:8.1f} {count_ms:9.1f} {count_cpu:8.1f}")
            assert number == len(found)
            assert found == sorted(found, reverse=True)


def test_orders_and_pages_over_100_000_findings(filled):
    with open_store(filled, readonly=True) as store:
        print(f"\n{'all ids by':20} {'ms':>8} {'(cpu)':>8}")
        for order in ORDERS:
            found, ms, cpu = timed(lambda order=order: store.ids("", order))
            print(f"{order:20} {ms:8.1f} {cpu:8.1f}")
            assert len(found) == ROWS
        page, ms, cpu = timed(lambda: store.rows(found[50_000:50_060]))
        print(f"{'60 rows':20} {ms:8.1f} {cpu:8.1f}")
        assert len(page) == 60
        for by in filters.TALLIES:
            answer, ms, cpu = timed(lambda by=by: store.tally(by))
            print(f"{'tally ' + by:20} {ms:8.1f} {cpu:8.1f}")
            assert answer
        buckets, ms, cpu = timed(store.buckets)
        print(f"{'buckets':20} {ms:8.1f} {cpu:8.1f}  ({len(buckets):,} of them)")
        assert sum(bucket.members for bucket in buckets) == ROWS


def timed(question):
    """The answer, and the best of three: wall and CPU time in ms (CPU tells more on a machine that is busy with other things)."""
    wall, cpu, answer = float("inf"), float("inf"), None
    for _ in range(3):
        begin, spent = time.perf_counter(), time.process_time()
        answer = question()
        wall, cpu = min(wall, time.perf_counter() - begin), min(cpu, time.process_time() - spent)
    return answer, wall * 1000, cpu * 1000
