"""Whether a finding may leave the house: the gates of DESIGN §10. Those about the repro are really run, each time in a fresh process."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from store.records import JSON, LADDER, Outcome, Program, Stage, State, Verdict
from store.rows import FindingRow, JobKind, JobState
from store.titles import is_given
from workbench.errors import WorkbenchError
from workbench.export.harness import BACKEND_VARIABLE
from workbench.export.repro import Repro, repros
from workbench.export.run import Ended, run_repro

if TYPE_CHECKING:
    from store import Store

RUNS = 3
"""A repro fails so many times of as many; fewer is flaky."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition. ``met`` is None while it has not been run."""

    name: str
    met: bool | None
    detail: str = ""

    @property
    def sign(self) -> str:
        """``✓``, ``✗`` or ``…``."""
        return "…" if self.met is None else "✓" if self.met else "✗"


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the gates.

    repro:    the text that was run; empty when none could be made
    output:   what its first failing run printed
    emulated: whether ``emulate_precision_casts`` makes the mismatch vanish; None when not asked
    """

    gates: tuple[Gate, ...]
    repro: str = ""
    style: str = ""
    output: str = ""
    emulated: bool | None = None

    @property
    def met(self) -> bool:
        """Every gate was run and is met."""
        return all(g.met for g in self.gates)

    @property
    def unmet(self) -> tuple[Gate, ...]:
        """Gates that refuse the export, those not run included."""
        return tuple(g for g in self.gates if not g.met)

    @property
    def sha(self) -> str:
        """Of the repro, so that a report is not used for another text."""
        return hashlib.sha256(self.repro.encode()).hexdigest()

    def to_json(self) -> dict[str, JSON]:
        """The result of a ``gates`` job."""
        return {
            "gates": [{"name": g.name, "met": g.met, "detail": g.detail} for g in self.gates],
            "repro": self.repro,
            "style": self.style,
            "output": self.output,
            "emulated": self.emulated,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Report:
        """The inverse of ``to_json``."""
        gates = tuple(Gate(g["name"], g["met"], g.get("detail", "")) for g in data["gates"])
        return cls(gates, data.get("repro", ""), data.get("style", ""), data.get("output", ""), data.get("emulated"))


@dataclass(frozen=True, slots=True)
class Subject:
    """What is exported: the reduced program where there is one, with the verdict on it.

    titled:    somebody gave the finding its title
    generated: an LLM proposed it
    """

    row: FindingRow
    program: Program
    verdict: Verdict
    reported: tuple[int, ...] = ()
    titled: bool = False
    generated: bool = False


def subject_of(store: Store, finding_id: int) -> Subject:
    """The program and verdict to export, and which findings of the same bucket are reported already."""
    row = store.finding(finding_id)
    reduced, verdict = store.reduced(finding_id), store.reduced_verdict(finding_id)
    if reduced is None or verdict is None:
        reduced, verdict = store.program(finding_id), store.verdict(finding_id)
    if verdict.stage is None and row.stage is not None:
        verdict = replace(verdict, stage=row.stage)
    reported = tuple(i for i in store.ids(f"bucket:{row.bucket} state:reported", "id") if i != finding_id)
    events = store.events(finding_id, None)
    return Subject(row, reduced, verdict, reported, is_given(row.title, events), row.generated)


def stored_gates(subject: Subject) -> tuple[Gate, ...]:
    """The gates that the store answers: not noise, not a duplicate of a reported bucket."""
    row, verdict = subject.row, subject.verdict
    rejected = row.state in (State.NOISE, State.FLAKY, State.EXPECTED)
    noise = (
        "state " + row.state if rejected else "" if verdict.outcome in (Outcome.MISMATCH, Outcome.ERROR) else f"verdict {verdict.outcome}"
    )
    same = row.duplicate_of or (subject.reported[0] if subject.reported else None)
    return (
        Gate("not noise", not noise, noise or "no noise test explains it"),
        Gate("not a duplicate of a reported bucket", same is None, f"finding {same} is the same bug" if same else f"bucket {row.bucket}"),
    )


def below(stage: Stage | None) -> tuple[str, ...]:
    """Backends below the stage, which must agree; none for an unknown stage."""
    return tuple(LADDER[s] for s in list(Stage)[: list(Stage).index(stage)]) if stage else ()


def run_names(stage: Stage | None) -> tuple[str, ...]:
    """Names of the gates that are run, in order."""
    names = [f"a fresh process exits non-zero with the mismatch, {RUNS} of {RUNS}", "exits zero under TORCHDYNAMO_DISABLE=1"]
    return (*names, *(f"exits zero with backend {b}" for b in below(stage)))


def unrun(subject: Subject) -> Report:
    """The report before anything was run: the stored gates answered, the others open; with the plainest repro as a preview."""
    try:
        repro = repros(subject.program, subject.verdict, subject.row.title)[0]
        open_gates = [Gate(name, None, "not run yet") for name in run_names(subject.verdict.stage)]
    except WorkbenchError as error:
        return Report((Gate("a repro can be made", met=False, detail=error.message), *stored_gates(subject)))
    return Report((*open_gates, *stored_gates(subject)), repro.text, repro.style)


def run_gates(subject: Subject, *, python: str | None = None, jobs: int = 1, say: Say = lambda text: None) -> Report:
    """Run every gate under ``python`` with ``jobs`` processes at once; ``say`` is told what happens, one line each."""
    try:
        candidates = repros(subject.program, subject.verdict, subject.row.title)
    except WorkbenchError as error:
        return Report((Gate("a repro can be made", met=False, detail=error.message), *stored_gates(subject)))
    with tempfile.TemporaryDirectory(prefix="gates-") as headers, ThreadPoolExecutor(jobs) as threads:
        session = _Session(python, Path(headers), threads, say)
        repro, first, control = session.choose(candidates)
        return session.report(subject, repro, first, control)


@dataclass(frozen=True, slots=True)
class _Session:
    """Runs of one finding's repro. They share the compiler's precompiled headers, and no other cache."""

    python: str | None
    headers: Path
    threads: ThreadPoolExecutor
    say: Say

    def run(self, repro: Repro, variables: Mapping[str, str]) -> Ended:
        ended = run_repro(repro.text, python=self.python, variables={"TMPDIR": str(self.headers), **variables})
        told = " ".join(f"{k}={v}" for k, v in variables.items())
        self.say(f"{told or 'as it is'}: {ended.words()}")
        return ended

    def choose(self, candidates: Sequence[Repro]) -> tuple[Repro, Ended, Ended]:
        """The first candidate that fails by itself and holds without Dynamo; the first one when none does."""
        tried: list[tuple[Repro, Ended, Ended]] = []
        for repro in candidates:
            first, control = self.threads.map(lambda v, r=repro: self.run(r, v), ({}, {"TORCHDYNAMO_DISABLE": "1"}))
            tried.append((repro, first, control))
            if first.mismatch and control.agreed:
                return tried[-1]
        return next((t for t in tried if t[1].mismatch), tried[0])

    def report(self, subject: Subject, repro: Repro, first: Ended, control: Ended) -> Report:
        stage = subject.verdict.stage
        backends = below(stage) if first.mismatch else ()
        again: list[dict[str, str]] = [{}] * (RUNS - 1 if first.mismatch else 0)
        asks = [{"TORCHINDUCTOR_EMULATE_PRECISION_CASTS": "1"}] if first.mismatch and _asks_emulation(subject) else []
        runs = list(self.threads.map(lambda v: self.run(repro, v), [*again, *({BACKEND_VARIABLE: b} for b in backends), *asks]))
        failed = [first, *runs[: len(again)]]
        same = sum(e.mismatch for e in failed)
        detail = next((e.words() for e in failed if not e.mismatch), "exit 1 with the mismatch")
        names = run_names(stage)
        gates = [
            Gate(names[0], same == RUNS, f"{same} of {RUNS if first.mismatch else 1}: {detail}"),
            Gate(names[1], control.agreed, control.words()),
        ]
        lower = runs[len(again) : len(again) + len(backends)]
        gates += [Gate(name, e.agreed, e.words()) for name, e in zip(names[2:], lower, strict=False)]
        gates += [Gate(name, None, "not run: the repro does not fail") for name in names[2 + len(lower) :]]
        emulated = runs[-1].agreed if asks else None
        return Report((*gates, *stored_gates(subject)), repro.text, repro.style, first.output, emulated)


def _asks_emulation(subject: Subject) -> bool:
    """Whether ``emulate_precision_casts`` could matter: Inductor, half types somewhere near."""
    halves = ("float16", "bfloat16", ".half(", "autocast")
    return subject.verdict.stage is Stage.INDUCTOR and (
        any(h in subject.program.source for h in halves) or any(d.dtype in halves for d in subject.verdict.differences)
    )


def stored_report(store: Store, subject: Subject) -> Report | None:
    """What the last run of the gates found about the program as it is now, or None; its stored gates are asked anew."""
    jobs = store.jobs(JobState.DONE, kind=JobKind.GATES, finding=subject.row.id)
    reports = [Report.from_json(job.result) for job in jobs if job.result and "gates" in job.result]
    if not reports:
        return None
    try:
        possible = {r.text for r in repros(subject.program, subject.verdict, subject.row.title)}
    except WorkbenchError:
        return None
    report = next((r for r in reports if r.repro in possible), None)
    if report is None:
        return None
    fresh = stored_gates(subject)
    ran = tuple(g for g in report.gates if g.name not in {f.name for f in fresh})
    return replace(report, gates=(*ran, *fresh))
