"""The ladder: which backend fails first, and so at which stage the compiler goes wrong (DESIGN §3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from store.records import LADDER, Outcome, Stage
from workbench.oracle.compare import Comparison
from workbench.oracle.explain import Explainer, Patches
from workbench.oracle.observation import Observation
from workbench.oracle.runs import Runs, UndecidedError


@dataclass(slots=True)
class Climb:
    """What the ladder found: the first failing stage (None: a backend outside the ladder fails alone) and each backend's outcome."""

    stage: Stage | None = None
    outcomes: dict[str, str] = field(default_factory=dict)


def climb(runs: Runs, fails: Callable[[str], Outcome], own: Outcome, *, whole: bool) -> Climb:
    """Ask the backends below the configured one, cheapest first; ``whole`` also asks those above the first that fails.

    ``fails`` gives a backend's outcome in the sense of the finding; ``own`` is the configured backend's.
    """
    found = Climb()
    failing = (Outcome.MISMATCH, Outcome.ERROR)
    configured = runs.configuration.backend
    for stage, backend in LADDER.items():
        if backend == configured:
            break
        if found.stage is not None and not whole:
            break
        outcome = _asked(fails, backend)
        found.outcomes[backend] = outcome.value
        if outcome in failing and found.stage is None:
            found.stage = stage
    found.outcomes[configured] = own.value
    if found.stage is None and own in failing:
        found.stage = next((s for s, b in LADDER.items() if b == configured), None)
    return found


def _asked(fails: Callable[[str], Outcome], backend: str) -> Outcome:
    try:
        return fails(backend)
    except UndecidedError:
        return Outcome.UNDECIDED


def same_difference(runs: Runs, explainer: Explainer, wanted: Comparison, patches: Patches) -> Callable[[str], Outcome]:
    """A backend fails when it leaves some of the finding's own places unexplained."""
    places = {(d.path, d.symptom) for d in wanted.open}

    def outcome(backend: str) -> Outcome:
        observed = runs.compiled(backend, patches)
        if observed.outcome != "returned":
            return Outcome.ERROR
        comparison = explainer.compare_at(backend, patches).comparison
        if any((d.path, d.symptom) in places for d in comparison.open):
            return Outcome.MISMATCH
        return Outcome.NOISE if comparison.found else Outcome.AGREE

    return outcome


def same_raise(runs: Runs) -> Callable[[str], Outcome]:
    """For loud findings: a backend fails when it raises where eager runs."""

    def outcome(backend: str) -> Outcome:
        return Outcome.ERROR if runs.compiled(backend).outcome == "raised" else Outcome.AGREE

    return outcome


def same_refusal(runs: Runs, class_name: str) -> Callable[[str], Outcome]:
    """For what the compiler refuses and the program catches: a backend fails when it refuses with that class too."""

    def outcome(backend: str) -> Outcome:
        return Outcome.ERROR if refuses(runs.compiled(backend), class_name) else Outcome.AGREE

    return outcome


def refuses(observed: Observation, class_name: str) -> bool:
    """Whether the compiler raised this class inside the run, and the program caught it."""
    return observed.outcome == "returned" and any(raised.class_name == class_name for raised in observed.refused)


def same_silence(runs: Runs) -> Callable[[str], Outcome]:
    """For a missing error: a backend fails when it runs where eager raises."""

    def outcome(backend: str) -> Outcome:
        return Outcome.MISMATCH if runs.compiled(backend).outcome == "returned" else Outcome.AGREE

    return outcome
