"""Tries the noise tests of DESIGN §3 on a comparison, cheapest first, and stops when nothing is left unexplained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from store.records import JSON, LADDER, NoiseKind, Stage
from workbench.oracle.compare import Comparison, Disagreement, compare
from workbench.oracle.dtypes import Mask
from workbench.oracle.noise import (
    FACTOR,
    Evidence,
    counts,
    excuse_by_control,
    excuse_by_nudge,
    excuse_by_shadow,
    excuse_by_ties,
    excuse_by_vanishing,
    excuse_eagers_overflow,
    furthest,
    out_of_reach,
    pinned_by,
)
from workbench.oracle.observation import Observation
from workbench.oracle.runs import LARGE, NUDGE_BATCHES, OTHER_POISON, POISON, TOGETHER, Runs

Patches = Mapping[str, Mapping[str, JSON]]

SAME_STREAM: Patches = {"inductor": {"fallback_random": True}}
EMULATED = "emulate_precision_casts"
COSTLY = 8 << 20
"""Elements in all leaves together (32 MB of float32) from which hopeless nudged runs are not made."""
SMOOTH = frozenset(
    """linear mm addmm bmm baddbmm mv dot convolution convolution_backward add sub rsub mul div neg sum mean exp log sqrt rsqrt tanh tanh_backward
    sigmoid sigmoid_backward gelu gelu_backward silu silu_backward relu threshold_backward leaky_relu leaky_relu_backward softplus
    _softmax _softmax_backward_data _log_softmax _log_softmax_backward_data native_layer_norm native_layer_norm_backward native_batch_norm
    native_batch_norm_backward native_group_norm native_group_norm_backward _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_attention_math avg_pool2d avg_pool2d_backward
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward upsample_nearest2d upsample_nearest2d_backward upsample_bilinear2d
    upsample_bilinear2d_backward embedding embedding_dense_backward nll_loss_forward nll_loss_backward mse_loss mse_loss_backward
    view _unsafe_view reshape t transpose permute expand detach clone copy _to_copy alias slice select squeeze unsqueeze split
    split_with_sizes unbind cat stack as_strided unfold zeros zeros_like ones ones_like full full_like empty empty_like empty_strided
    new_zeros new_empty new_empty_strided new_ones fill zero slice_backward select_backward arange tril triu contiguous lift_fresh
    constant_pad_nd pow addcmul where masked_fill native_dropout native_dropout_backward accumulate_grad""".split()  # noqa: SIM905
)
"""Continuous in their operands (masks come from elsewhere), or moving them."""


@dataclass(slots=True)
class Explained:
    """A comparison after the noise tests.

    patches: what the compiled run needed to be comparable (the same random stream); later runs of the ladder need it too
    tried:   what the tests found where they left something unexplained, in order, a phrase each
    """

    comparison: Comparison
    evidence: Evidence = field(default_factory=Evidence)
    patches: Patches = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)


def excluded(comparison: Comparison, shadow: Observation, pins: Mapping[str, Mask], *, large: bool) -> list[str]:
    """What the tests that need no further run leave out, for what is still unexplained."""
    told: list[str] = []
    movable = [d for d in comparison.open if _wanted(d, large=large)]
    if not movable:
        return told
    if shadow.facts.get("exact"):
        told.append("rounding (every operator of the program is exact)")
    elif all(d.path in pins for d in movable):
        told.append("rounding (backend eager shows it and runs the same operators)")
    elif (times := furthest(comparison, shadow)) is not None:
        told.append(f"rounding (compiled is {times:.3g} times as far from float64 as eager around it; {FACTOR:g} would pass)")
    if any(d.path in shadow.leaves and shadow.leaves[d.path].keys is not None for d in comparison.open):
        told.append("a tie (the other index has another key)")
    return told


def _wanted(found: Disagreement, *, large: bool) -> bool:
    """Whether a nudged run can say something of it, among leaves of that size."""
    return found.movable and (found.left is not None and found.left.size > LARGE) is large


def _costly(shadow: Observation) -> bool:
    """Nudged runs take seconds each: millions of elements, most of them in parameters."""
    return sum(math.prod(leaf.shape) for leaf in shadow.leaves.values()) > COSTLY


def _smooth(shadow: Observation) -> bool:
    """No operator decides anything on rounded numbers, as far as their names tell; then a few nudged runs tell what 24 would, in size."""
    plan = shadow.facts.get("plan")
    if not isinstance(plan, list):
        return False
    names = {str(node[0]).partition(".")[2].partition(".")[0] for node in plan if isinstance(node, list) and node}
    return all(name.rstrip("_") in SMOOTH for name in names)


class Explainer:
    """The noise tests over one program's runs."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._pins: dict[str, Mask] | None = None

    def explain(self, compiled: Observation) -> Explained:
        """Every test in order. Needs a further compile only for random numbers and half types, and only while something is left."""
        result = Explained(compare(self._runs.eager(), compiled))
        if not result.comparison.equal:
            self._in_eager(result.comparison, result.evidence, result.tried)
        if not result.comparison.equal and self._random_numbers(result):
            result = self._same_stream(result)
        if not result.comparison.equal and self._half_types():
            self._low_precision(result)
        return result

    def compare_at(self, backend: str, patches: Patches) -> Explained:
        """A stage of the ladder: another backend's run, with the tests that need no compile."""
        result = Explained(compare(self._runs.eager(), self._runs.compiled(backend, patches)), patches=patches)
        if not result.comparison.equal:
            self._in_eager(result.comparison, result.evidence)
        return result

    def explain_run(self, compiled: Observation, patches: Patches) -> Explained:
        """A repetition of a compiled run, with the tests that need no compile."""
        result = Explained(compare(self._runs.eager(), compiled), patches=patches)
        if not result.comparison.equal:
            self._in_eager(result.comparison, result.evidence)
        return result

    def _in_eager(self, comparison: Comparison, evidence: Evidence, tried: list[str] | None = None) -> None:
        """Control runs, rounding by the shadow, ties, rounding by nudge: nothing of it compiles."""
        told = tried if tried is not None else []
        self._controls(comparison, evidence)
        told.append("an eager that is not reproducible, uninitialised memory (eager repeated with other bytes in fresh memory)")
        if not any(d.movable for d in comparison.open):
            return
        shadow = self._runs.shadow()
        if shadow.outcome != "returned":
            return
        pins = self._pinned()
        for large in (False, True):  # where ordinary leaves decide, gradients of some hundred MB need not be looked at
            excuse_by_shadow(comparison, shadow, pins, evidence, large=large)
            excuse_by_ties(comparison, shadow, pins, evidence)
            told += [phrase for phrase in excluded(comparison, shadow, pins, large=large) if phrase not in told]
            seeds = 0 if shadow.facts.get("exact") else self._nudge(comparison, shadow, pins, evidence, large=large)
            if seeds and not comparison.equal:
                told.append(f"rounding on the way ({seeds} eager runs with every rounded step nudged do not reach it)")
            comparison.set_aside(LARGE)

    def _nudge(self, comparison: Comparison, shadow: Observation, pins: dict[str, Mask], evidence: Evidence, *, large: bool) -> int:
        """How many seeds ran. Stops when nothing is left, and where more of what is costly cannot help."""
        nudged: list[Observation] = []
        seeds = 0
        for batch, more in enumerate(NUDGE_BATCHES):
            together = batch == TOGETHER
            if not any(_wanted(d, large=large) and (counts(d) or not together) for d in comparison.open):
                break
            if nudged and _costly(shadow) and _smooth(shadow) and out_of_reach(comparison, self._runs.eager(), nudged):
                break
            nudged += self._runs.nudged(batch, large=large)
            excuse_by_nudge(comparison, self._runs.eager(), nudged, pins, evidence, whole=together)
            seeds += len(more)
        return seeds

    def _controls(self, comparison: Comparison, evidence: Evidence) -> None:
        eager = self._runs.eager()
        other_bytes = compare(eager, self._runs.control(OTHER_POISON))
        if other_bytes.equal:
            return
        repeated = compare(eager, self._runs.control(POISON))
        if not repeated.equal:
            excuse_by_control(comparison, repeated, NoiseKind.NONDETERMINISTIC, evidence)
        excuse_by_control(comparison, other_bytes, NoiseKind.UNINITIALISED, evidence)

    def _pinned(self) -> dict[str, Mask]:
        """What backend ``eager`` shows against eager: Dynamo alone runs the same operators, so it rounds the same."""
        if self._pins is None:
            observed = self._runs.compiled(LADDER[Stage.DYNAMO])
            if observed.outcome == "returned":
                comparison = compare(self._runs.eager(), observed)
                self._controls(comparison, Evidence())
                self._pins = pinned_by(comparison)
            else:
                self._pins = {}
        return self._pins

    def _random_numbers(self, result: Explained) -> bool:
        runs = self._runs
        asked_for = bool(runs.configuration.inductor.get("fallback_random"))
        return not asked_for and bool(runs.shadow().facts.get("random"))

    def _same_stream(self, result: Explained) -> Explained:
        """Compiled again with eager's random numbers: what differs then is real, the rest was another stream."""
        same = Explained(compare(self._runs.eager(), self._runs.compiled(patches=SAME_STREAM)), patches=SAME_STREAM)
        if not same.comparison.equal:
            self._in_eager(same.comparison, same.evidence, same.tried)
            same.tried.append("another random stream (compiled again with eager's random numbers)")
        excuse_by_vanishing(result.comparison, same.comparison, NoiseKind.RANDOM_STREAM, {}, result.evidence)
        if same.comparison.equal:
            result.patches = SAME_STREAM
            return result
        same.evidence.by_kind.update(result.evidence.by_kind)
        return same

    def _half_types(self) -> bool:
        stage_compiles = self._runs.configuration.backend not in [LADDER[s] for s in Stage if s is not Stage.INDUCTOR]
        return stage_compiles and bool(self._runs.shadow().facts.get("half"))

    def _low_precision(self, result: Explained) -> None:
        """What is left and vanishes when intermediate half results are rounded as eager rounds them (F2)."""
        if not any(d.movable for d in result.comparison.open):
            return
        patches = {"inductor": {**result.patches.get("inductor", {}), EMULATED: True}}
        observed = self._runs.compiled(patches=patches)
        if observed.outcome == "returned":
            other = compare(self._runs.eager(), observed)
            if not other.equal:
                self._in_eager(other, Evidence())
            excuse_by_vanishing(result.comparison, other, NoiseKind.LOW_PRECISION, self._pinned(), result.evidence)
            result.tried.append("wider intermediates of half types (compiled again with emulate_precision_casts)")
        if any(d.left is not None for d in result.comparison.open):
            excuse_eagers_overflow(result.comparison, self._runs.shadow(), self._pinned(), result.evidence)
