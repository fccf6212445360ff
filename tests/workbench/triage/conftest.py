"""A store full of synthetic findings, made through the store's own interface; no torch, nothing compiled."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from store import Store, open_store
from store.records import Configuration, Difference, Element, Outcome, Program, Signature, Stage, Symptom, Verdict
from store.records import Warning as Caution

PROGRAM = '''# /// workbench
# backend = "inductor"
# ///
"""any() on uint8 keeps uint8 in eager"""
import torch


def fn(x):
    y = torch.{op}(x) + {number}
    return y.to(torch.int32)


def get_inputs():
    return [torch.tensor([[0, 2], [0, {number}]], dtype=torch.uint8)]
'''

REDUCED = """import torch


def fn(x):
    return torch.{op}(x)


def get_inputs():
    return [torch.full((2,), {number}, dtype=torch.uint8)]
"""

OPS = ("any", "sum", "flip", "cumsum", "roll", "argmin", "softmax")
SYMPTOMS = ((Symptom.VALUE,), (Symptom.DTYPE,), (Symptom.GRADIENT, Symptom.VALUE), (Symptom.ALIAS,), (Symptom.MISSING_ERROR,))


def program(index: int, *, reduced: bool = False) -> Program:
    """The ``index``-th synthetic program; all texts differ."""
    source = (REDUCED if reduced else PROGRAM).format(op=OPS[index % len(OPS)], number=index)
    return Program(source, Configuration(dynamic=True if index % 5 == 0 else None), f"program{index}.py")


def verdict(index: int, outcome: Outcome = Outcome.MISMATCH) -> Verdict:
    """A verdict with two differences, a grid, warnings, a ladder and a guilty pass."""
    stage = list(Stage)[index % 4]
    grid = tuple(tuple(1e-3 * ((r * 7 + c) % 5 == 0) * (r + 1) for c in range(32)) for r in range(8))
    elements = (Element((0, 3), "1.0", "255.0", "1.0"), Element((1, 0), "nan", "0.5", None))
    value = Difference("return[0]", SYMPTOMS[index % 5][0], "float32", (8, 32), 51, elements, 254.0, 254.0, 1.5e7, "finite:large", "", grid)
    typed = Difference("inputs[0]", Symptom.DTYPE, "int64", (2,), 0, (), None, None, None, "dtype", "dtype int64, compiled uint8")
    return Verdict(
        outcome,
        "eager and compiled disagree in return[0]",
        SYMPTOMS[index % 5],
        (Caution.OVERFLOW, Caution.THREADS_MATTER),
        stage=stage,
        configuration=program(index).configuration,
        ladder={"eager": "agree", "aot_eager": "agree", "aot_eager_decomp_partition": "agree", "inductor": "mismatch"},
        differences=(value, typed),
        guilty="post_grad_passes" if index % 3 else None,
        guilty_asked=True,
        replay="TORCH_BISECT_BACKEND=inductor TORCH_BISECT_SUBSYSTEM=post_grad_passes TORCH_BISECT_MAX=7 python repro.py",
        torch="2.13.0",
        machine={"capability": "AVX512", "threads": 1},
    )


def signature(index: int) -> Signature:
    """Three findings share each signature."""
    group = index // 3
    return Signature(list(Stage)[group % 4], None, SYMPTOMS[group % 5], (OPS[group % len(OPS)], f"shape{group}"))


def fill(store: Store, count: int, start: int = 0) -> None:
    """Add ``count`` findings in one transaction."""
    with store.together():
        for index in range(start, start + count):
            store.add_finding(
                program(index),
                verdict(index),
                signature=signature(index),
                origin="fuzz",
                seed_name=f"seed{index % 9}",
                characteristic=("AM-alias-then-write", "MD-uint8", "BV-extremes")[index % 3],
                mutators=("view", "inplace")[: 1 + index % 2],
            )


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with 40 findings; finding 3 is reduced."""
    path = tmp_path / "findings.db"
    with open_store(path) as store:
        fill(store, 40)
        store.save_reduction(3, program(2, reduced=True), verdict(2), signature(2), {"oracle_calls": 12}, final=True)
    return path


@pytest.fixture
def filled() -> Callable[[Store, int, int], None]:
    """``fill``, for tests that add findings while something runs."""
    return fill


Until = Callable[[Pilot[None], Callable[[], object]], Awaitable[None]]


@pytest.fixture
def until() -> Until:
    """Waits until something is so, as long as a slow machine needs; says what was not so."""

    async def wait(pilot: Pilot[None], so: Callable[[], object]) -> None:
        for _ in range(200):
            await pilot.pause()
            if so():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(
            f"never came true: {inspect.getsource(so).strip()}; status: {pilot.app.screen_stack[0].query_one('#status').content}"
        )

    return wait


@pytest.fixture(autouse=True)
def no_tabs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the tabs of the person who runs it."""
    monkeypatch.setattr("workbench.triage.tabs.tabs_file", lambda: tmp_path / "triage.toml")
    monkeypatch.setattr("workbench.triage.tabs.actor", lambda: "me")


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """No test starts a real worker; the paths for which one was asked."""
    asked: list[Path] = []

    def start(path: Path) -> str:
        asked.append(path)
        return "worker started (process 1, log x)"

    monkeypatch.setattr("workbench.triage.writer.start_worker", start)
    return asked
