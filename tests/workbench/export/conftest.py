"""Subjects to export, made by hand: a program, the verdict on it, a row of the store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from store.records import Configuration, Difference, Element, Outcome, Program, Stage, State, Symptom, Verdict
from store.rows import FindingRow, Reduction
from workbench.export.gates import Subject

ANY = """import torch


def fn(x):
    return torch.any(x)


def get_inputs():
    return [torch.tensor([0, 2], dtype=torch.uint8)]
"""


def make(
    source: str = ANY,
    symptoms: tuple[Symptom, ...] = (Symptom.DTYPE,),
    paths: tuple[str, ...] = ("return",),
    stage: Stage | None = Stage.INDUCTOR,
    configuration: Configuration | None = None,
    state: State = State.NEW,
    reported: tuple[int, ...] = (),
    outcome: Outcome = Outcome.MISMATCH,
) -> Subject:
    """A subject with differences at ``paths``."""
    configuration = configuration or Configuration()
    element = Element((1,), "1.0", "255.0", "1.0")
    differences = tuple(
        Difference(p, symptoms[0], "uint8", (2,), 1, (element,), 254.0, 254.0, None, "dtype", "dtype uint8, compiled bool") for p in paths
    )
    ladder = {"eager": "agree", "aot_eager": "agree", "aot_eager_decomp_partition": "agree", "inductor": "mismatch"}
    verdict = Verdict(
        outcome,
        "differs",
        symptoms,
        stage=stage,
        configuration=configuration,
        ladder=ladder,
        differences=differences,
        torch="2.13.0",
        guilty="lowerings any",
    )
    program = Program(source, configuration, "finding:7")
    row = FindingRow(
        id=7, uid="f" * 24, title="wrong dtype: any (inductor)", state=state, bucket=3, signature="inductor | any | dtype | any", final=True, stage=stage,
        symptoms=symptoms, guilty=None, labels=(), assignee="", origin="fuzz", seed="s", characteristic=None, code="MD", mutators=(), backend="inductor",
        dtype="uint8", ops=("any",), configuration={}, torch="2.13.0", fixed_torch="", count=2, reduction=Reduction.DONE, statements=1,
        created="2026-12-01T00:00:00.000Z", seen="2026-12-01T00:00:00.000Z", program_sha=program.sha, reduced_sha=None, duplicate_of=None,
        verified=(3, 3), campaign=None,
    )  # fmt: skip
    return Subject(row, program, verdict, reported)


@pytest.fixture
def subject() -> Callable[..., Subject]:
    """``make``."""
    return make
