"""The closed sets of words that records are made of: symptoms, stages, verdicts, noise, warnings, states (DESIGN §3, §7). Standard library only.

Everybody imports them from ``store.records``, which hands them on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Symptom(StrEnum):
    """How a difference shows (DESIGN §3)."""

    VALUE = "value"
    NAN = "nan"
    DTYPE = "dtype"
    SHAPE = "shape"
    STRIDE = "stride"
    DEVICE = "device"
    REQUIRES_GRAD = "requires_grad"
    ALIAS = "alias"
    MUTATION = "mutation"
    GRADIENT = "gradient"
    RNG = "rng"
    STRUCTURE = "structure"
    PYVALUE = "pyvalue"
    MODES = "modes"
    MISSING_ERROR = "missing_error"
    EXCEPTION = "exception"


WEAK_SYMPTOMS = frozenset({Symptom.STRIDE, Symptom.EXCEPTION})
"""Reported beside a verdict, never a mismatch by themselves."""


class Stage(StrEnum):
    """Where the compiler first goes wrong: the first failing backend of the ladder."""

    DYNAMO = "dynamo"
    AOT = "aot"
    DECOMPOSITION = "decomposition"
    INDUCTOR = "inductor"


LADDER: Mapping[Stage, str] = {
    Stage.DYNAMO: "eager",
    Stage.AOT: "aot_eager",
    Stage.DECOMPOSITION: "aot_eager_decomp_partition",
    Stage.INDUCTOR: "inductor",
}
"""The backend whose first failure names each stage, in order."""


class Outcome(StrEnum):
    """The verdicts of DESIGN §3."""

    AGREE = "agree"
    NOISE = "noise"
    MISMATCH = "mismatch"
    ERROR = "error"
    INVALID = "invalid"
    UNDECIDED = "undecided"


EXIT_CODES: Mapping[Outcome, int] = {
    Outcome.AGREE: 0,
    Outcome.NOISE: 0,
    Outcome.MISMATCH: 1,
    Outcome.ERROR: 1,
    Outcome.INVALID: 2,
    Outcome.UNDECIDED: 3,
}


class NoiseKind(StrEnum):
    """The tests of DESIGN §3 that can explain a difference, in the order in which they are tried."""

    UNINITIALISED = "uninitialised"
    NONDETERMINISTIC = "nondeterministic"
    ROUNDING = "rounding"
    TIES = "ties"
    NUDGE = "nudge"
    RANDOM_STREAM = "random_stream"
    LOW_PRECISION = "low_precision"


class Warning(StrEnum):  # noqa: A001 - the project's word for it
    """What a person should know before trusting a mismatch; never decides a verdict."""

    OVERFLOW = "overflow"
    OUT_OF_RANGE_CAST = "out_of_range_cast"
    DUPLICATE_INDICES = "duplicate_indices"
    OVERLAPPING_MEMORY = "overlapping_memory"
    BEYOND_STORAGE = "beyond_storage"
    EXTREME_VALUES = "extreme_values"
    SIGNED_ZERO = "signed_zero"
    EAGER_SUSPECT = "eager_suspect"
    ASKS_IF_COMPILED = "asks_if_compiled"
    THREADS_MATTER = "threads_matter"


class State(StrEnum):
    """Where a finding stands in triage. Reduction, labels and assignee are columns, never states (DESIGN §7)."""

    NEW = "new"
    CONFIRMED = "confirmed"
    TRIAGED = "triaged"
    REPORTED = "reported"
    FIXED = "fixed"
    REGRESSED = "regressed"
    FLAKY = "flaky"
    NOISE = "noise"
    EXPECTED = "expected"
    DUPLICATE = "duplicate"
    WONTFIX = "wontfix"


SIDE_EXITS = frozenset({State.FLAKY, State.NOISE, State.EXPECTED, State.DUPLICATE, State.WONTFIX})
