"""How the screen feels over 100,000 findings: start, filter, keys, and two writers at work. Prints figures; asserts on answers only."""

# ruff: noqa: T201 - what a benchmark prints is its answer

from __future__ import annotations

import asyncio
import gc
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.strip import Strip

from store import Store, open_store
from store.records import Difference, Outcome, Program, Signature, Stage, Symptom, Verdict
from workbench.triage.app import TriageApp
from workbench.triage.bucket_screen import BucketScreen

pytestmark = pytest.mark.benchmark

ROWS = 100_000
ADDED = 2_000
OPS = ("flip", "softmax", "index_put", "cumsum", "roll")


def add(store: Store, number: int) -> None:
    symptom, stage = list(Symptom)[number % 16], list(Stage)[number % 4]
    verdict = Verdict(
        Outcome.MISMATCH, "differs", (symptom,), stage=stage, differences=(Difference("return", symptom, "float32", (4,), 1),)
    )
    source = f"import torch\n\n\ndef fn(x):\n    return torch.{OPS[number % 5]}(x) + {number}\n\n\ndef get_inputs():\n    return [torch.ones(4)]\n"
    signature = Signature(stage, None, (symptom,), (OPS[number % 5], f"v{number % 50}"))
    store.add_finding(Program(source), verdict, signature=signature, origin="fuzz")


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of ROWS findings: ADDED real ones, and copies of their rows (adding all takes minutes)."""
    path = tmp_path_factory.mktemp("triage") / "big.db"
    with open_store(path) as store, store.together():
        for number in range(ADDED):
            add(store, number)
    raw = sqlite3.connect(path)
    columns = [row[1] for row in raw.execute("PRAGMA table_info(findings)")]
    chosen = ", ".join({"id": "id + :n", "uid": "uid || '-' || :n"}.get(c, c) for c in columns)
    with raw:
        for n in range(ADDED, ROWS, ADDED):
            raw.execute(f"INSERT INTO findings SELECT {chosen} FROM findings WHERE id <= {ADDED}", {"n": n})
            for table, term in (("finding_symptoms", "symptom"), ("finding_ops", "op")):
                raw.execute(f"INSERT INTO {table} SELECT {term}, finding_id + ? FROM {table} WHERE finding_id <= {ADDED}", (n,))
    raw.close()
    return path


@pytest.fixture(autouse=True)
def no_tabs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual tabs, not those of whoever runs this."""
    monkeypatch.setattr("workbench.triage.tabs.tabs_file", lambda: tmp_path / "triage.toml")


async def came_true(so: Callable[[], object]) -> float:
    """Seconds until something is so."""
    begin = time.perf_counter()
    while not so():
        await asyncio.sleep(0.001)
        if time.perf_counter() - begin > 60:
            raise AssertionError("never came true")
    return time.perf_counter() - begin


class Gaps:
    """How long the event loop is away at a time."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    async def watch(self) -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(0.005)
            self.seen.append(time.perf_counter() - begin - 0.005)

    def told(self) -> str:
        ordered = sorted(self.seen)
        p99 = ordered[int(len(ordered) * 0.99)]
        return f"p50 {1000 * statistics.median(ordered):.0f} ms, p99 {1000 * p99:.0f} ms, longest {1000 * ordered[-1]:.0f} ms"


def painted(app: TriageApp) -> bool:
    """The line under the cursor is drawn with its row, not as a placeholder."""
    return app.findings.current_row is not None and "…" not in app.findings.render_line(1).text[:10]


async def test_start_filter_and_keys(big: Path) -> None:
    app = TriageApp(big)
    gaps = Gaps()
    begin = time.perf_counter()
    async with app.run_test(size=(140, 45)) as pilot:
        watcher = asyncio.create_task(gaps.watch())
        await came_true(lambda: len(app.findings.ids) == ROWS and painted(app))
        print(f"\n{ROWS:,} findings\n{1000 * (time.perf_counter() - begin):8.0f} ms from start to painted (imports done before)")
        for query, wanted in (("stage:inductor", 25_000), ("op:softmax", 20_000), ("symptom:nan stage:aot", 6_250), ("", ROWS)):
            app.bar.set_text(query)
            taken = await came_true(lambda w=wanted: len(app.findings.ids) == w and painted(app))
            print(f"{1000 * taken:8.0f} ms filter {query or 'off'!r} to painted ({wanted:,})")
        for key, name in (("j", "cursor down"), ("G", "to the end"), ("ctrl+u", "half a page up"), ("g", "to the top")):
            print(f"{1000 * await _key(pilot, app, key):8.0f} ms key {key} ({name}) to painted, median of 9")
        watcher.cancel()
        print(f"event loop away: {gaps.told()}")
        begin = time.perf_counter()
        await pilot.press("b")
        await came_true(lambda: isinstance(app.screen, BucketScreen) and app.screen.detail)
        assert isinstance(app.screen, BucketScreen)
        print(f"{1000 * (time.perf_counter() - begin):8.0f} ms to open the buckets ({len(app.screen.list.lines)})")
        await pilot.press("escape")
        begin = time.perf_counter()
        app.refresh_views()
        app.tab_bar.counts = {}
        await came_true(lambda: app.tab_bar.counts)
        print(f"{1000 * (time.perf_counter() - begin):8.0f} ms to count {len(app.tab_bar.tabs)} tabs")


async def _key(pilot: Pilot[None], app: TriageApp, key: str) -> float:
    """Seconds from a key to the drawing of the line on which the cursor then stands, with its row."""
    findings, taken = app.findings, []
    drawn: list[int] = []
    plain = findings._line

    def line(index: int, width: int) -> Strip:
        if index == findings.cursor and findings.current_row is not None:
            drawn.append(index)
        return plain(index, width)

    findings._line = line  # type: ignore[method-assign]
    for _ in range(9):
        drawn.clear()
        begin = time.perf_counter()
        app.post_message(events.Key(key, key if len(key) == 1 else None))
        await came_true(lambda: drawn)
        taken.append(time.perf_counter() - begin)
        await asyncio.sleep(0.15)
    findings._line = plain  # type: ignore[method-assign]
    return statistics.median(taken)


def _write(path: str, seconds: float, start: int) -> None:
    time.sleep(6)
    end = time.monotonic() + seconds
    with open_store(Path(path)) as store:
        number = start
        while time.monotonic() < end:
            add(store, number)
            number += 1
            time.sleep(0.005)


async def test_two_writers_at_200_a_second_do_not_make_it_stutter(big: Path) -> None:
    call = "import runpy, sys; runpy.run_path(sys.argv[1])['_write'](sys.argv[2], 5.0, int(sys.argv[3]))"
    writers = [subprocess.Popen([sys.executable, "-c", call, __file__, str(big), str(1_000_000 * n)]) for n in (1, 2)]
    app = TriageApp(big)
    gaps = Gaps()
    async with app.run_test(size=(140, 45)) as pilot:
        await came_true(lambda: app.findings.ids)
        before = len(app.findings.ids)
        gc.freeze()  # as the app does in a terminal
        watcher = asyncio.create_task(gaps.watch())
        while any(w.poll() is None for w in writers):
            await pilot.press("j")
            await asyncio.sleep(0.03)
        watcher.cancel()
        await came_true(lambda: len(app.findings.ids) > before)
        await asyncio.sleep(1)
        print(f"\n{len(app.findings.ids) - before} findings added by two writers in 5 s; event loop away: {gaps.told()}")


def test_cold_start_of_the_process(big: Path) -> None:
    code = (
        "import time; b = time.perf_counter(); import workbench.triage.app; import sys; sys.stdout.write(f'{time.perf_counter() - b:.2f}')"
    )
    runs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    print(f"\n{1000 * min(runs):8.0f} ms to import the screen (best of 5)")
