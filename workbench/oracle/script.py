"""Script form: one verdict a compiled call, each judged as a program of its own over the script's runs; the file's is that of the first difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from store.records import JSON, Configuration, Outcome, Verdict
from workbench.oracle.observation import Observation
from workbench.oracle.runs import OTHER_POISON, Runs, UndecidedError

FINDINGS = (Outcome.MISMATCH, Outcome.ERROR)
CASCADE = "cascade: an earlier call differed"

Examine = Callable[[Runs, bool], Verdict]
"""The verdict of one call; True for calls after the first difference, which need no stage."""


class CallRuns(Runs):
    """One compiled call in the runs of its script: every run is the whole script's, every observation this call's."""

    def __init__(self, whole: Runs, number: int, configuration: Configuration) -> None:
        super().__init__(whole._pool, whole.program, whole.setting)
        self._whole = whole
        self._number = number
        self._configuration = configuration

    @property
    def configuration(self) -> Configuration:
        """How the script compiles this call."""
        return self._configuration

    def eager(self) -> Observation:
        return self._call(self._whole.eager(), "eager")

    def control(self, poison: int = OTHER_POISON) -> Observation:
        return self._call(self._whole.control(poison), "another eager run")

    def compiled(self, backend: str | None = None, patches: Mapping[str, Mapping[str, JSON]] | None = None, **changes: Any) -> Observation:
        return self._call(self._whole.compiled(backend, patches, **changes), f"{backend} run" if backend else "compiled run")

    def shadow(self) -> Observation:
        return self._call(self._whole.shadow(), "float64 shadow")

    def nudged(self, batch: int, *, large: bool = False) -> list[Observation]:
        return [self._call(whole, "nudged run") for whole in self._whole.nudged(batch, large=large)]

    def _call(self, whole: Observation, what: str) -> Observation:
        if self._number < len(whole.calls):
            return whole.calls[self._number]
        raise UndecidedError(f"not reached in {what}, which makes {len(whole.calls)} calls{_end(whole)}")


def examine_script(runs: Runs, examine: Examine) -> Verdict:
    """The verdict of a script and, in ``calls``, of each of its compiled calls.

    When its own assert ends the script and no call differs so far, it is run again without its asserts: they decide nothing.
    """
    found = _examined(runs, examine)
    if found.outcome in FINDINGS or not runs.setting.asserts or not _asserted(runs):
        return found
    lenient = Runs(runs._pool, runs.program, replace(runs.setting, asserts=False))
    try:
        again = _examined(lenient, examine) if lenient.eager().calls else found
    except UndecidedError:
        again = found
    runs.compiles += lenient.compiles
    return again


def _asserted(runs: Runs) -> bool:
    ends = [runs.eager().facts.get("ended"), runs.compiled().facts.get("ended")]
    return any(isinstance(end, dict) and end.get("class") == "AssertionError" for end in ends)


def _examined(runs: Runs, examine: Examine) -> Verdict:
    eager, compiled = runs.eager(), runs.compiled()
    calls: list[Verdict] = []
    first: int | None = None
    for number in range(max(len(eager.calls), len(compiled.calls))):
        verdict = _verdict_of(runs, number, examine, is_later=first is not None)
        if first is None and verdict.outcome in FINDINGS:
            first = number
        calls.append(verdict)
    return _whole(runs, calls, first)


def _verdict_of(runs: Runs, number: int, examine: Examine, *, is_later: bool) -> Verdict:
    sides = [side.calls[number] for side in (runs.compiled(), runs.eager()) if number < len(side.calls)]
    told = sides[0].facts.get("call", {})
    configuration = _configuration(runs.configuration, told)
    place = f"{runs.program.name}:{told.get('line')} {told.get('name')}"
    try:
        names = {side.facts.get("call", {}).get("name") for side in sides}
        if len(names) > 1 and not is_later:
            raise UndecidedError(f"the script goes another way when compiled: {' and '.join(sorted(map(str, names)))} are called here")
        verdict = examine(CallRuns(runs, number, configuration), is_later)
    except UndecidedError as error:
        verdict = Verdict(Outcome.UNDECIDED, str(error), configuration=configuration)
    if is_later and verdict.outcome in (*FINDINGS, Outcome.UNDECIDED):
        verdict = replace(verdict, reason=f"{CASCADE} ({verdict.reason})")
    return replace(verdict, file=place)


def _configuration(given: Configuration, told: Mapping[str, JSON]) -> Configuration:
    """The file's configuration with what the script says at this call."""
    changes = {k: told[k] for k in ("backend", "dynamic", "fullgraph", "mode") if k in told}
    return given.with_(**changes, inductor={**told.get("inductor", {}), **given.inductor})


def _whole(runs: Runs, calls: list[Verdict], first: int | None) -> Verdict:
    """The file's verdict: the first difference's, else the worst. A call that raises alike on both sides is no verdict on the others."""
    dropped = int(runs.eager().facts.get("dropped") or 0)
    more = f"; {dropped} further calls were not recorded" if dropped else ""
    if first is not None:
        found = calls[first]
        cascade = sum(call.reason.startswith(CASCADE) for call in calls)
        later = f"; {cascade} later calls cascade" if cascade else ""
        return replace(
            found,
            reason=f"call {first} of {len(calls)} ({_short(found)}): {found.reason}{later}{more}",
            differences=tuple(replace(d, path=f"calls[{first}].{d.path}") for d in found.differences),
            configuration=runs.configuration,
            calls=tuple(calls),
        )
    for outcome in (Outcome.UNDECIDED, Outcome.NOISE):
        for number, call in enumerate(calls):
            if call.outcome is outcome:
                told = f"call {number} of {len(calls)} ({_short(call)}): {call.reason}{more}"
                return replace(call, reason=told, configuration=runs.configuration, differences=(), calls=tuple(calls))
    agreeing = [call for call in calls if call.outcome is Outcome.AGREE]
    if not agreeing:
        return replace(calls[0], configuration=runs.configuration, calls=tuple(calls))
    raising = f"; {len(calls) - len(agreeing)} raise alike on both sides" if len(agreeing) < len(calls) else ""
    counted = "1 compiled call agrees" if len(agreeing) == 1 else f"{len(agreeing)} compiled calls agree"
    return Verdict(
        Outcome.AGREE,
        f"{counted}{raising}{more}",
        tuple(dict.fromkeys(s for call in agreeing for s in call.symptoms)),
        tuple(dict.fromkeys(w for call in agreeing for w in call.warnings)),
        configuration=runs.configuration,
        ladder=agreeing[0].ladder,
        calls=tuple(calls),
    )


def _short(call: Verdict) -> str:
    line, _, name = call.file.rpartition(":")[2].partition(" ")
    return f"{name}, line {line}"


def _end(whole: Observation) -> str:
    ended = whole.facts.get("ended")
    if not isinstance(ended, dict):
        return ""
    line = f" at line {ended['line']}" if ended.get("line") else ""
    return f" and ends with {ended.get('class')}{line}"
