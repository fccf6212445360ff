"""The judge: one program in, one verdict out (DESIGN §3). Decides; running, comparing and excusing are its neighbours' work."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from store.records import LADDER, Configuration, Difference, Noise, NoiseKind, Outcome, Program, Stage, Symptom, Verdict, Warning
from workbench.oracle.compare import Comparison, Disagreement
from workbench.oracle.difference import difference
from workbench.oracle.explain import Explained, Explainer, Patches
from workbench.oracle.graphs import guilty_graph
from workbench.oracle.guilty import APPLICATIONS, Shows, gone_without, guilty
from workbench.oracle.ladder import Climb, climb, refuses, same_difference, same_raise, same_refusal, same_silence
from workbench.oracle.memo import Memo
from workbench.oracle.observation import Observation, Raised
from workbench.oracle.runs import Runner, Runs, Setting, UndecidedError
from workbench.oracle.script import examine_script
from workbench.oracle.warn import warnings_of

VERSION = 11
"""Counts every change that can change a verdict; part of the memo's key."""
MOST_DIFFERENCES = 64
SHARE = 16
"""One in so many programs (by their text) that one thread compiles right is judged again with two: other code, omp parallel and accumulators."""
MACHINES = ("CppCompileError", "ModuleNotFoundError", "ImportError", "InvalidCxxCompiler", "FileNotFoundError", "PermissionError")
"""Exceptions by which an interpreter without a compiler, or without a module that torch wants, shows: then no program compiles."""
UNRAISED = ("InvalidProgram", "ConfigurationError")
"""Classes by which a runner says what is missing or wrong without an exception of the program."""


@dataclass(frozen=True, slots=True)
class Demand:
    """How much a caller wants to know.

    stage:   on a finding, ask the cheap backends for the stage
    ladder:  ask every backend, also above the first that fails and for programs that agree
    confirm: on a mismatch, compile once more; what does not show again is undecided
    threads: findings again with another number of threads, and one in ``SHARE`` of the other programs with two (``threads_matter``)
    blame:   a guilty pass as ``guilty`` names it: ask only whether the difference is gone without its subsystem (one compile)
    """

    stage: bool = True
    ladder: bool = False
    confirm: bool = True
    threads: bool = False
    blame: str = ""


class Judge:
    """Judges programs on a pool of servers; safe to use from several threads at once."""

    def __init__(self, pool: Runner, setting: Setting | None = None, memo: Memo | None = None) -> None:
        self._pool = pool
        self._memo = memo
        self.setting = setting or Setting()

    def check(self, program: Program, *, ladder: bool = False, demand: Demand | None = None, setting: Setting | None = None) -> Verdict:
        """The verdict of a program under its configuration. Never raises for what the program does."""
        started = time.monotonic()
        place = setting or self.setting
        runs = Runs(self._pool, program, place)
        wanted = demand or Demand(ladder=ladder, threads=True)
        asked = f"{wanted}{place.argv}{place.test}{sorted(place.said)}{place.asserts}"
        known = self._memo.get(program, asked) if self._memo is not None else None
        if known is not None:
            return replace(known, file=program.name, seconds=time.monotonic() - started, compiles=0)
        try:
            verdict = _examined(runs, wanted)
        except UndecidedError as error:
            verdict = Verdict(Outcome.UNDECIDED, str(error), configuration=program.configuration)
        verdict = replace(verdict, file=program.name, compiles=runs.compiles, seconds=time.monotonic() - started, isolation=runs.missing)
        if self._memo is not None:
            self._memo.put(program, asked, verdict)
        return verdict

    def screen(self, program: Program, setting: Setting | None = None) -> Verdict | None:
        """Eager alone: ``invalid`` or ``undecided`` when the program is no use, None when it is worth a compile."""
        runs = Runs(self._pool, program, setting or self.setting)
        try:
            eager = runs.eager()
        except UndecidedError as error:
            return Verdict(Outcome.UNDECIDED, str(error), configuration=program.configuration, file=program.name)
        if eager.outcome == "invalid":
            return replace(_invalid(eager, program.configuration), file=program.name)
        return None


def as_found(program: Program, verdict: Verdict) -> Program:
    """The program with the threads that the verdict needed: a difference may show with two only."""
    return replace(program, configuration=replace(program.configuration, threads=verdict.configuration.threads))


def _examined(runs: Runs, demand: Demand) -> Verdict:
    """A program in harness form as a whole, a script call by call."""
    eager = runs.eager()
    if eager.facts.get("form") != "script" or eager.outcome == "invalid":
        return _with_threads(runs, demand, _Examination(runs, demand).verdict())
    compiled = runs.compiled()
    if compiled.outcome == "invalid":
        return _invalid(compiled, runs.configuration)
    later = replace(demand, stage=False, ladder=False, confirm=False, threads=False)
    return examine_script(runs, lambda call, is_later: _Examination(call, later if is_later else demand).verdict())


class _Examination:
    """One program on the stand."""

    def __init__(self, runs: Runs, demand: Demand) -> None:
        self._runs = runs
        self._demand = demand
        self._explainer = Explainer(runs)
        self._configuration = runs.configuration

    def verdict(self) -> Verdict:
        eager = self._runs.eager()
        if eager.outcome == "invalid":
            return _invalid(eager, self._configuration)
        control = self._runs.control()
        if control.outcome != eager.outcome or _class(control.exception) != _class(eager.exception):
            return self._undecided(f"eager is not reproducible: one run {_told(eager)}, another {_told(control)}")
        compiled = self._runs.compiled()
        if compiled.outcome == "invalid":
            return _invalid(compiled, self._configuration)
        if eager.outcome == "raised":
            return self._eager_raised(eager, compiled)
        if compiled.outcome == "raised":
            assert compiled.exception is not None
            return self._loud(compiled.exception)
        return self._both_returned(compiled)

    def _eager_raised(self, eager: Observation, compiled: Observation) -> Verdict:
        assert eager.exception is not None
        if compiled.outcome == "returned" and compiled.refused:
            return self._loud(compiled.refused[0], caught=True)
        if compiled.outcome == "returned":
            ladder = self._climb(same_silence(self._runs), Outcome.MISMATCH)
            reason = f"eager raises {_named(eager.exception)}, compiled runs"
            told = Difference("exception", Symptom.MISSING_ERROR, change="missing_error", detail=reason)
            found = self._finding(Outcome.MISMATCH, reason, (Symptom.MISSING_ERROR,), (told,), ladder)
            return replace(found, ruled_out=("an eager that raises by chance (it raises alike in two runs)",))
        if _class(eager.exception) == _class(compiled.exception):
            return _invalid(eager, self._configuration)
        assert compiled.exception is not None
        reason = f"both raise: eager {_named(eager.exception)}, compiled {_named(compiled.exception)}"
        return Verdict(Outcome.AGREE, reason, (Symptom.EXCEPTION,), self._warnings(None), configuration=self._configuration)

    def _loud(self, raised: Raised, *, caught: bool = False) -> Verdict:
        """``caught``: by the program, which turned it into something else; for whoever calls the compiled function it is as loud."""
        if any(name in raised.class_name for name in MACHINES) and not self._runs.compiler_works():
            said = raised.message.strip().partition("\n")[0][:200]
            return self._undecided(f"Inductor fails on every program here, a trivial one too (workbench doctor says more): {said}")
        if self._demand.confirm:
            again = self._runs.compiled(key="confirm")
            if not (refuses(again, raised.class_name) if caught else again.outcome == "raised"):
                return self._undecided(f"compiled is not reproducible: one run raises {_named(raised)}, another {_told(again)}")
        ladder = self._climb(same_refusal(self._runs, raised.class_name) if caught else same_raise(self._runs), Outcome.ERROR)
        thrown = replace(raised, class_name=(raised.wrapped or raised.class_name).rpartition(".")[2]) if caught else raised
        reason = f"compiled raises {_named(thrown)}" + (", which the program catches" if caught else " where eager runs")
        told = Difference("exception", Symptom.EXCEPTION, change=f"raises:{raised.class_name}", detail=raised.message[:500])
        return self._finding(Outcome.ERROR, reason, (Symptom.EXCEPTION,), (told,), ladder)

    def _is_refusal(self, compiled: Observation, comparison: Comparison, patches: Patches) -> bool:
        """Whether what differs may come of the compiler's own exception, which the program caught: all of it does where that is raised first."""
        if not compiled.refused:
            return False
        rungs, own = list(LADDER.values()), self._configuration.backend
        for backend in rungs[: rungs.index(own)] if own in rungs else ():
            if refuses(self._runs.compiled(backend, patches), compiled.refused[0].class_name):
                there = self._explainer.compare_at(backend, patches).comparison.open
                return {(d.path, d.symptom) for d in comparison.open} <= {(d.path, d.symptom) for d in there}
        return True

    def _both_returned(self, compiled: Observation) -> Verdict:
        explained = self._explainer.explain(compiled)
        comparison = explained.comparison
        if comparison.equal:
            return self._equal(explained)
        if self._is_refusal(compiled, comparison, explained.patches):
            return self._loud(compiled.refused[0], caught=True)
        if self._demand.confirm:
            again = self._runs.compiled(patches=explained.patches, key="confirm")
            if again.outcome == "returned" and not _shows_again(
                comparison, self._explainer.explain_run(again, explained.patches).comparison
            ):
                return self._undecided("compiled is not reproducible: one of two runs differs from eager")
        ladder = self._climb(same_difference(self._runs, self._explainer, comparison, explained.patches), Outcome.MISMATCH)
        differences = self._differences(comparison)
        symptoms = _symptoms(comparison.open)
        found = self._finding(Outcome.MISMATCH, _reason(comparison.open, differences), symptoms, differences, ladder, comparison)
        chance = ("a chance result (compiled twice)",) if self._demand.confirm else ()
        found = replace(found, ruled_out=(*explained.tried, *chance))
        return self._with_guilty(found, comparison, explained.patches)

    def _with_guilty(self, found: Verdict, comparison: Comparison, patches: Patches) -> Verdict:
        """The guilty pass and whether threads matter, on request; both cost compiles."""

        def shows(observed: Observation) -> bool:
            return _shows_again(comparison, self._explainer.explain_run(observed, patches).comparison)

        if (self._demand.threads or self._demand.ladder) and _threads_matter(self._runs, shows, patches):
            found = _warned_of_threads(found)
        if found.stage is None or not (self._demand.ladder or self._demand.blame):
            return found
        if not self._demand.ladder:
            if found.stage not in APPLICATIONS:
                return found
            hidden = gone_without(self._runs, found.stage, self._demand.blame, shows, patches)
            return replace(found, guilty=self._demand.blame if hidden else None, guilty_asked=True)
        return self._blamed(found, shows, patches)

    def _blamed(self, found: Verdict, shows: Shows, patches: Patches) -> Verdict:
        """The guilty graph where there are several, and the guilty pass within it, so that one line replays both."""
        assert found.stage is not None
        graph = guilty_graph(self._runs, found.stage, shows, patches)
        if found.stage not in APPLICATIONS:
            return replace(found, graph=graph.name, replay=graph.replay)
        blamed = guilty(self._runs, found.stage, shows, graph.patched(patches))
        replay = " ".join(part for part in (graph.replay, blamed.replay) if part)
        return replace(found, guilty=blamed.name, guilty_asked=True, graph=graph.name, replay=replay)

    def _equal(self, explained: Explained) -> Verdict:
        comparison = explained.comparison
        kind = explained.evidence.last
        weak = _symptoms(comparison.weak)
        ladder = Climb()
        if self._demand.ladder:
            ladder = climb(self._runs, self._outcome_at(explained.patches), Outcome.NOISE if kind else Outcome.AGREE, whole=True)
            ladder.stage = None
        if kind is None:
            return Verdict(
                Outcome.AGREE,
                "same in everything observed",
                weak,
                self._warnings(comparison),
                configuration=self._configuration,
                ladder=ladder.outcomes,
            )
        evidence = {k.value: v for k, v in explained.evidence.by_kind.items()}
        return Verdict(
            Outcome.NOISE,
            _noise_reason(explained),
            weak,
            self._warnings(comparison),
            Noise(kind, evidence),
            configuration=self._configuration,
            ladder=ladder.outcomes,
            differences=self._differences(comparison),
        )

    def _outcome_at(self, patches: Patches):  # type: ignore[no-untyped-def]
        def outcome(backend: str) -> Outcome:
            if self._runs.compiled(backend, patches).outcome != "returned":
                return Outcome.ERROR
            comparison = self._explainer.compare_at(backend, patches).comparison
            return Outcome.MISMATCH if not comparison.equal else Outcome.NOISE if comparison.found else Outcome.AGREE

        return outcome

    def _climb(self, fails, own: Outcome) -> Climb:  # type: ignore[no-untyped-def]
        if not (self._demand.stage or self._demand.ladder):
            return Climb()
        return climb(self._runs, fails, own, whole=self._demand.ladder)

    def _differences(self, comparison: Comparison) -> tuple[Difference, ...]:
        shadow = self._shadow()
        found = comparison.open or comparison.found
        return tuple(difference(d, shadow) for d in found[:MOST_DIFFERENCES])

    def _shadow(self) -> Observation | None:
        """The shadow with its images; those of a run that raised are of values on the way."""
        shadow = self._watched()
        return shadow if shadow is not None and shadow.outcome == "returned" else None

    def _watched(self) -> Observation | None:
        """The shadow with its warnings, also where eager raises: what it read until then may be the reason."""
        try:
            return self._runs.shadow()
        except UndecidedError:
            return None

    def _warnings(self, comparison: Comparison | None) -> tuple[Warning, ...]:
        needs_shadow = comparison is not None and bool(comparison.found)
        return warnings_of(self._runs, comparison, self._watched() if needs_shadow else None)

    def _finding(
        self,
        outcome: Outcome,
        reason: str,
        symptoms: tuple[Symptom, ...],
        differences: tuple[Difference, ...],
        ladder: Climb,
        comparison: Comparison | None = None,
    ) -> Verdict:
        return Verdict(
            outcome,
            reason,
            symptoms,
            warnings_of(self._runs, comparison, self._watched()),
            stage=ladder.stage,
            configuration=self._configuration,
            ladder=ladder.outcomes,
            differences=differences,
        )

    def _undecided(self, reason: str) -> Verdict:
        return Verdict(Outcome.UNDECIDED, reason, configuration=self._configuration)


def _invalid(observed: Observation, configuration: Configuration) -> Verdict:
    assert observed.exception is not None
    places = {"import": "while the file is executed", "get_inputs": "in get_inputs", "constructor": "in the constructor of Model"}
    where = places.get(observed.where, "in the call, on both sides alike")
    line = f", line {observed.exception.line}" if observed.exception.line else ""
    if observed.exception.class_name in UNRAISED:
        return Verdict(Outcome.INVALID, f"{observed.exception.message}{line}", configuration=configuration)
    return Verdict(Outcome.INVALID, f"raises {_named(observed.exception)} {where}{line}", configuration=configuration)


def _threads_matter(runs: Runs, shows: Shows, patches: Patches) -> bool:
    """Whether the difference is gone with another number of threads (two for one, one for more); only Inductor's code depends on it."""
    if runs.configuration.backend != LADDER[Stage.INDUCTOR]:
        return False
    try:
        observed = runs.compiled(patches=patches, threads=2 if runs.configuration.threads == 1 else 1)
    except UndecidedError:
        return False
    return observed.outcome == "returned" and not shows(observed)


def of_share(program: Program) -> bool:
    """Whether a program is among those that are judged with two threads too; the same ones every time."""
    return int(program.sha[:8], 16) % SHARE == 0


def _with_threads(runs: Runs, demand: Demand, verdict: Verdict) -> Verdict:
    """For a share of the programs that one thread compiles right: the verdict with two, where that is a finding."""
    program = runs.program
    decided = verdict.outcome in (Outcome.AGREE, Outcome.NOISE) and runs.configuration.backend == LADDER[Stage.INDUCTOR]
    if not (decided and demand.threads and runs.configuration.threads == 1 and of_share(program)):
        return verdict
    again = runs.sibling(replace(program, configuration=replace(runs.configuration, threads=2)))
    try:
        found = _Examination(again, replace(demand, threads=False)).verdict()
    except UndecidedError:
        return verdict
    finally:
        runs.compiles += again.compiles
    return _warned_of_threads(found) if found.outcome in (Outcome.MISMATCH, Outcome.ERROR) else verdict


def _warned_of_threads(found: Verdict) -> Verdict:
    return replace(found, warnings=tuple(w for w in Warning if w in {*found.warnings, Warning.THREADS_MATTER}))


def _shows_again(wanted: Comparison, other: Comparison) -> bool:
    places = {(d.path, d.symptom) for d in wanted.open}
    return any((d.path, d.symptom) in places for d in other.open)


def _symptoms(found: list[Disagreement]) -> tuple[Symptom, ...]:
    """In the order of the vocabulary, each once."""
    present = {d.symptom for d in found}
    return tuple(s for s in Symptom if s in present)


def _reason(found: list[Disagreement], differences: tuple[Difference, ...]) -> str:
    first = differences[0]
    where = f"{first.path} differs" + (
        f" in {first.mismatched} elements" if first.mismatched else f": {first.detail}" if first.detail else ""
    )
    return where + (f"; so do {len(found) - 1} other places" if len(found) > 1 else "")


def _noise_reason(explained: Explained) -> str:
    words = {
        NoiseKind.UNINITIALISED: "eager itself reads uninitialised memory there",
        NoiseKind.NONDETERMINISTIC: "eager itself gives another result each time",
        NoiseKind.ROUNDING: "compiled is no further from the float64 shadow than eager",
        NoiseKind.TIES: "another index of an equal key",
        NoiseKind.NUDGE: "one-ulp changes inside eager reach the compiled value",
        NoiseKind.RANDOM_STREAM: "another random stream; with the same one nothing differs",
        NoiseKind.LOW_PRECISION: "vanishes when half-precision intermediates are rounded as eager rounds them",
    }
    return "; ".join(words[k] for k in NoiseKind if k in explained.evidence.by_kind)


def _class(raised: Raised | None) -> str | None:
    return raised.class_name if raised is not None else None


def _named(raised: Raised) -> str:
    first = raised.message.strip().splitlines()[0] if raised.message.strip() else ""
    shown = first if len(first) <= 200 else f"{first[:199]}…"
    return f"{raised.class_name}: {shown}" if first else raised.class_name


def _told(observed: Observation) -> str:
    return f"raises {_named(observed.exception)}" if observed.exception is not None else "returns"
