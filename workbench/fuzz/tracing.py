"""Facts about a program from the runner's ``trace`` action, and whether it runs in eager at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from store.records import JSON, Program
from workbench.runner.protocol import Limits, Request
from workbench.servers import Run

LIMITS = Limits(seconds=20.0, memory_mb=2048, file_mb=64, output_kb=16)
"""A mutant is small; what takes longer than this in eager is not worth a compile."""


class Runner(Protocol):
    """Whatever runs requests: a pool of servers."""

    def run(self, request: Request) -> Run: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What one eager run showed.

    outcome:  returned | raised | invalid | the run's status when it gave no document
    why:      one line when it did not return
    document: values, lines, inputs of the trace
    """

    outcome: str
    why: str
    document: dict[str, JSON]

    @property
    def returned(self) -> bool:
        return self.outcome == "returned"


def facts_of(runner: Runner, program: Program) -> Facts:
    """Run a program once in eager and tell its values."""
    run = runner.run(Request("trace", program.source, configuration=program.configuration.to_json(), limits=LIMITS))
    if run.document is None:
        return Facts(run.status, run.detail, {})
    raised = run.document.get("exception") or {}
    message = str(raised.get("message", "")).strip().splitlines()
    why = f"{raised.get('class', '')}: {message[0][:160] if message else ''}" if raised else ""
    return Facts(str(run.document["outcome"]), why, run.document)
