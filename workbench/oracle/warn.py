"""Warnings: what a person should know before trusting a verdict. They decide nothing."""

from __future__ import annotations

import numpy as np

from store.records import Warning
from workbench.oracle.compare import Comparison, Disagreement
from workbench.oracle.dtypes import Floats, Mask, as_reals, is_double, real_format
from workbench.oracle.observation import Observation
from workbench.oracle.runs import Runs

SENTENCES: dict[Warning, str] = {
    Warning.OVERFLOW: "An integer operation in the program overflows; eager wraps around, C++ promises nothing.",
    Warning.OUT_OF_RANGE_CAST: "A float is cast to an integer type that cannot hold it; the result is undefined.",
    Warning.DUPLICATE_INDICES: "A write without accumulate has duplicate indices; which value stays is undefined.",
    Warning.OVERLAPPING_MEMORY: "The program writes through a tensor whose elements share memory.",
    Warning.BEYOND_STORAGE: "The program reads or writes beyond the storage of a tensor.",
    Warning.EXTREME_VALUES: "Inputs hold infinities, subnormals or magnitudes beyond 1e30; try normal-range inputs.",
    Warning.SIGNED_ZERO: "Results differ in the sign of zero.",
    Warning.EAGER_SUSPECT: "Eager is far from the float64 shadow where compiled is near: eager may be the wrong side.",
    Warning.ASKS_IF_COMPILED: "The program asks whether it is being compiled and may differ on purpose.",
    Warning.THREADS_MATTER: "The verdict changes with the number of threads.",
}
SUSPECT = 100.0
"""Eager this many times further from the shadow than compiled, beyond tolerance, makes eager the suspect."""
FEWEST = 4
"""Elements that must be so before a difference explained as rounding is told to be eager's fault."""


def warnings_of(runs: Runs, comparison: Comparison | None, shadow: Observation | None) -> tuple[Warning, ...]:
    """The warnings that apply, in the order of the vocabulary."""
    found: set[Warning] = set()
    if runs.eager().facts.get("asks_if_compiled"):
        found.add(Warning.ASKS_IF_COMPILED)
    if shadow is not None:
        found |= {Warning(name) for name in shadow.warnings if name in Warning.__members__.values()}
    if comparison is not None:
        if comparison.signed_zero:
            found.add(Warning.SIGNED_ZERO)
        if shadow is not None and (
            any(_far_where_open(d, shadow) for d in comparison.open)
            or (not shadow.facts.get("half") and any(_far_as_a_whole(d, shadow) for d in comparison.found if not d.is_open))
        ):
            found.add(Warning.EAGER_SUSPECT)
    return tuple(w for w in Warning if w in found)


def _far_where_open(found: Disagreement, shadow: Observation) -> bool:
    """Some unexplained element is far from the shadow in eager and near in compiled."""
    errors = _errors(found, shadow)
    if errors is None or found.left is None:
        return False
    eager, compiled, beyond = errors
    return bool((found.left & beyond & (eager > SUSPECT * compiled)).any())


def _far_as_a_whole(found: Disagreement, shadow: Observation) -> bool:
    """A difference excused as rounding in which eager's errors are of another size than compiled's: single elements may be right by luck."""
    errors = _errors(found, shadow)
    if errors is None:
        return False
    eager, compiled, beyond = errors
    known = np.isfinite(compiled) & ~np.isnan(eager)
    if int((beyond & known).sum()) < FEWEST:
        return False
    return float(np.sqrt((eager[known] ** 2).mean())) > SUSPECT * float(np.sqrt((compiled[known] ** 2).mean()))


def _errors(found: Disagreement, shadow: Observation) -> tuple[Floats, Floats, Mask] | None:
    """Distances of eager and compiled from the shadow, and where eager's is beyond its tolerance; None where they say nothing.

    Where eager has no number and the truth is one that fits, eager is infinitely far.
    """
    leaf = shadow.leaves.get(found.path)
    if leaf is None or found.eager is None or found.compiled is None or is_double(found.eager.dtype):
        return None
    form = real_format(found.eager.dtype)
    image = leaf.shadow
    if form is None or image is None or found.eager.array is None or found.compiled.array is None or image.shape != found.eager.shape:
        return None
    if found.compiled.shape != found.eager.shape:
        return None
    truth = as_reals(image).astype(np.float64)
    with np.errstate(all="ignore"):
        own = as_reals(found.eager.array).astype(np.float64)
        eager = np.where(np.isfinite(own), np.abs(own - truth), np.where(np.isfinite(truth), np.inf, np.nan))
        compiled = np.abs(as_reals(found.compiled.array).astype(np.float64) - truth)
        fits = np.abs(truth) <= form.largest  # infinity is the right rounding beyond
        return eager, compiled, np.asarray(fits & (eager > form.atol + form.rtol * np.abs(truth)))
