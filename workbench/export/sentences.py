"""The project's short words explained in sentences: what a symptom, a warning, a stage, a kind of noise means. Text only."""

from __future__ import annotations

from collections.abc import Mapping

from store.plain import one_line
from store.records import NoiseKind, Stage, State, Symptom
from store.records import Warning as Caution
from store.rows import FindingRow

SYMPTOMS: Mapping[Symptom, str] = {
    Symptom.VALUE: "wrong values",
    Symptom.NAN: "NaN or infinity in other places",
    Symptom.DTYPE: "another dtype",
    Symptom.SHAPE: "another shape",
    Symptom.STRIDE: "another stride",
    Symptom.DEVICE: "another device",
    Symptom.REQUIRES_GRAD: "another requires_grad",
    Symptom.ALIAS: "memory shared by other tensors",
    Symptom.MUTATION: "inputs, parameters or buffers left in another state",
    Symptom.GRADIENT: "wrong gradients",
    Symptom.RNG: "another random state afterwards",
    Symptom.STRUCTURE: "another structure of the result",
    Symptom.PYVALUE: "other Python values",
    Symptom.MODES: "modes left on or off",
    Symptom.MISSING_ERROR: "eager raises, compiled does not",
    Symptom.EXCEPTION: "another exception",
}

WARNINGS: Mapping[Caution, str] = {
    Caution.OVERFLOW: "An integer operation overflows. Wrapping is what eager does, but C++ does not promise it.",
    Caution.OUT_OF_RANGE_CAST: "A float is cast to an integer type that cannot hold it; the result is undefined in C++.",
    Caution.DUPLICATE_INDICES: "Several writes go to one place without accumulation; it is real only if their order cannot matter.",
    Caution.OVERLAPPING_MEMORY: "Something is written through a tensor whose elements overlap in memory, such as an expanded one.",
    Caution.BEYOND_STORAGE: "A view reads or writes beyond its storage; what stands there is nobody's promise.",
    Caution.EXTREME_VALUES: "Huge, tiny or subnormal numbers are involved; check whether ordinary inputs show it too.",
    Caution.SIGNED_ZERO: "Only the sign of a zero differs somewhere; it matters only if it reaches another value.",
    Caution.EAGER_SUSPECT: "Eager is further from the float64 result than compiled: perhaps eager is the wrong one.",
    Caution.ASKS_IF_COMPILED: "The program asks whether it is being compiled, so it may differ on purpose.",
    Caution.THREADS_MATTER: "The difference appears only with a certain number of threads.",
}

STAGES: Mapping[Stage, str] = {
    Stage.DYNAMO: "Dynamo (backend eager already fails)",
    Stage.AOT: "AOTAutograd and functionalization (first fails with aot_eager)",
    Stage.DECOMPOSITION: "decompositions and partitioner (first fails with aot_eager_decomp_partition)",
    Stage.INDUCTOR: "Inductor (only backend inductor fails)",
}

NOISE: Mapping[NoiseKind, str] = {
    NoiseKind.UNINITIALISED: "eager itself changes with what stood in memory before",
    NoiseKind.NONDETERMINISTIC: "eager itself differs from run to run",
    NoiseKind.ROUNDING: "compiled is about as far from the float64 result as eager",
    NoiseKind.TIES: "another index with an equal value",
    NoiseKind.NUDGE: "changes of one ulp inside eager move the result as far",
    NoiseKind.RANDOM_STREAM: "another random stream; equal with fallback_random",
    NoiseKind.LOW_PRECISION: "half-precision intermediates; gone with emulate_precision_casts",
}

MARKS: Mapping[State, str] = {
    State.NEW: "○",
    State.CONFIRMED: "●",
    State.TRIAGED: "◆",
    State.REPORTED: "↑",
    State.FIXED: "✓",
    State.REGRESSED: "↻",
    State.FLAKY: "~",
    State.NOISE: "≈",
    State.EXPECTED: "=",
    State.DUPLICATE: "≡",
    State.WONTFIX: "–",
}
"""One narrow sign a state, so that colour never says anything alone."""


GENERATED_SIGN = "✎"
"""In front of a title that an LLM proposed, where there is no room for words: in lists."""


def titled(row: FindingRow) -> str:
    """A finding's title as lists show it."""
    title = one_line(row.title)
    return f"{GENERATED_SIGN} {title}" if row.generated else title


def symptoms_text(symptoms: tuple[Symptom, ...]) -> str:
    """``wrong values and wrong gradients``."""
    words = [SYMPTOMS[s] for s in symptoms] or ["a difference"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def number(value: float | None) -> str:
    """A distance as people read it: ``0.25``, ``3.1e-07``, ``–`` when there is none."""
    return "–" if value is None else f"{value:.3g}"


def replay_effect(replay: str) -> str:
    """What a verdict's replay line does to a program that it is put before: whether the mismatch shows or is hidden."""
    maximum = replay.partition("TORCH_BISECT_MAX=")[2].partition(" ")[0]
    if maximum and maximum != "-1":
        return f"shows it; TORCH_BISECT_MAX={int(maximum) - 1} hides it"
    if maximum or "TORCH_COMPILE_OVERRIDE_INDUCTOR_CONFIGS" in replay:
        return "hides it"
    return "shows it"
