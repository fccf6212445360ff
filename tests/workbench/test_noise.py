"""The noise tests, each both ways: a difference it explains, and a real one that it must not (anchors: measured factors)."""

from __future__ import annotations

import numpy as np
from observed import observation

from store.records import NoiseKind, Symptom
from workbench.oracle.compare import Change, Comparison, Disagreement, compare
from workbench.oracle.dtypes import decode, ulp
from workbench.oracle.noise import (
    Evidence,
    excuse_by_control,
    excuse_by_nudge,
    excuse_by_shadow,
    excuse_by_ties,
    excuse_by_vanishing,
    excuse_eagers_overflow,
    pinned_by,
)
from workbench.oracle.observation import Observation


def f32(values: object) -> np.ndarray:
    return np.asarray(values, np.float32)


def against(eager: object, compiled: object) -> tuple[Observation, Comparison]:
    one = observation({"return": eager})
    return one, compare(one, observation({"return": compiled}))


def shadow_of(eager: object, truth: object, **facts: object) -> Observation:
    return observation({"return": (eager, {"shadow": truth})}, facts=facts)


def test_as_far_from_the_shadow_as_eager_is_rounding():
    eager, truth = f32([1.0, 1.0]), [1.0001, 1.0001]
    _, comparison = against(eager, f32([1.0002, 1.0]))
    evidence = Evidence()
    excuse_by_shadow(comparison, shadow_of(eager, truth), {}, evidence)
    assert comparison.equal
    assert evidence.by_kind[NoiseKind.ROUNDING]["elements"] == 1


def test_clearly_further_than_eager_is_not_rounding():
    eager, truth = f32([1.0, 1.0]), [1.0001, 1.0001]
    _, comparison = against(eager, f32([1.001, 1.0]))
    excuse_by_shadow(comparison, shadow_of(eager, truth), {}, Evidence())
    assert not comparison.equal


def test_eager_right_by_luck_is_excused_by_its_neighbours_in_magnitude():  # anchors: purely elementwise reports 156301
    rng = np.random.default_rng(0)
    truth = 1 + rng.random(100)
    eager = f32(truth + 1e-4 * rng.standard_normal(100))
    eager[5] = truth[5]
    compiled = eager.copy()
    compiled[5] = truth[5] + 1e-4
    _, comparison = against(eager, compiled)
    excuse_by_shadow(comparison, shadow_of(eager, truth), {}, Evidence())
    assert comparison.equal


def test_errors_of_large_elements_do_not_excuse_small_ones():  # anchors: a whole-tensor rms missed 22 injections
    truth = np.concatenate([np.linspace(1, 2, 50), np.linspace(1e6, 2e6, 50)])
    eager = f32(truth)
    eager[50:] += 1.0
    compiled = eager.copy()
    compiled[3] += 0.5
    _, comparison = against(eager, compiled)
    excuse_by_shadow(comparison, shadow_of(eager, truth), {}, Evidence())
    assert not comparison.equal


def test_an_infinity_or_nan_is_never_excused_by_the_shadow():
    for wrong in (np.inf, np.nan):
        eager = f32([1.0, 2.0])
        _, comparison = against(eager, f32([wrong, 2.0]))
        excuse_by_shadow(comparison, shadow_of(eager, [1.0, 2.0]), {}, Evidence())
        assert not comparison.equal


def test_the_shadow_says_nothing_about_double():
    eager = np.array([1.0])
    _, comparison = against(eager, np.array([1.1]))
    excuse_by_shadow(comparison, shadow_of(eager, [1.05]), {}, Evidence())
    assert not comparison.equal


def test_what_backend_eager_has_wrong_is_never_rounding():
    eager = f32([1.0, 1.0])
    _, comparison = against(eager, f32([1.0002, 1.0]))
    _, dynamo = against(eager, f32([1.0002, 1.0]))
    excuse_by_shadow(comparison, shadow_of(eager, [1.0001, 1.0001]), pinned_by(dynamo), Evidence())
    assert not comparison.equal


def indices(eager: object, compiled: object, keys: object, dim: int | None, *, exact: bool) -> Comparison:
    chosen = np.asarray(eager)
    _, comparison = against(chosen, np.asarray(compiled))
    shadow = observation({"return": (chosen, {"keys": (keys, dim)})}, facts={"exact": exact})
    excuse_by_ties(comparison, shadow, {}, Evidence())
    return comparison


def test_equal_value_at_another_index_is_a_tie_not_a_mismatch():
    assert indices([1, 0], [2, 0], [[0, 5, 5], [3, 1, 1]], 1, exact=True).equal


def test_wrong_index_without_a_tie_is_a_mismatch():  # pytorch#163929
    assert not indices([1, 0], [0, 0], [[0, 5, 5], [3, 1, 1]], 1, exact=True).equal


def test_near_ties_only_in_inexact_programs():
    keys = [[1.0, 1.0 + 2 * 2.0**-23]]
    assert indices([1], [0], keys, 1, exact=False).equal
    assert not indices([1], [0], keys, 1, exact=True).equal


def test_sorted_order_of_equal_keys_and_flattened_index():
    assert indices([[0, 1, 2]], [[1, 0, 2]], [[1, 1, 2]], 1, exact=True).equal
    assert indices(1, 3, [[0, 5], [2, 5]], None, exact=True).equal


def test_an_index_out_of_range_is_no_tie():
    assert not indices([1], [7], [[5, 5]], 1, exact=True).equal


def described(value: object, *nudged: object) -> Comparison:
    """The comparison of a Python result 1.0 with ``value``, after nudged runs that gave these."""
    plain = lambda v: {"float": repr(v)} if isinstance(v, float) else v  # noqa: E731
    eager, compiled = observation({}, python={"return": plain(1.0)}), observation({}, python={"return": plain(value)})
    comparison = compare(eager, compiled)
    variants = [{"python": {"return": plain(v)}, "shapes": {}} for v in nudged]
    excuse_by_nudge(comparison, eager, [observation({}, facts={"variants": variants})], {}, Evidence())
    return comparison


def test_a_python_float_may_be_where_nudged_runs_are():
    assert described(1.0 + 1e-9).equal
    assert not described(1.1).equal
    assert described(1.1, 0.9, 1.2).equal
    assert not described(1.3, 0.9, 1.2).equal


def test_numbers_inside_text_move_like_numbers():
    change = Change("mean 1.50 of 3", "mean 1.52 of 3", "")
    for seen, open_ in ((["mean 1.55 of 3"], False), (["mean 1.51 of 3"], True), (["mean 1.55 of 4"], False), (["sum 1.55 of 3"], True)):
        found = Disagreement("return", Symptom.PYVALUE, places={"root": change})
        variants = [{"python": {"return": text}, "shapes": {}} for text in seen]
        excuse_by_nudge(Comparison([found]), observation({}), [observation({}, facts={"variants": variants})], {}, Evidence())
        assert found.is_open is open_, seen


def test_a_shape_that_depends_on_values_may_be_where_a_nudged_run_is():
    eager, comparison = against(f32([1.0, 2.0]), f32([1.0, 2.0, 3.0]))
    variants = [{"python": {}, "shapes": {"return": [2]}}]
    excuse_by_nudge(comparison, eager, [observation({}, facts={"variants": variants})], {}, Evidence())
    assert not comparison.equal
    variants[0]["shapes"] = {"return": [3]}
    excuse_by_nudge(comparison, eager, [observation({}, facts={"variants": variants})], {}, Evidence())
    assert comparison.equal


def test_a_python_value_that_eager_varies_hides_no_other():
    eager = observation({}, python={"return": {"dict": [["time", 1], ["count", 1]]}})
    control = compare(eager, observation({}, python={"return": {"dict": [["time", 2], ["count", 1]]}}))
    comparison = compare(eager, observation({}, python={"return": {"dict": [["time", 3], ["count", 0]]}}))
    excuse_by_control(comparison, control, NoiseKind.NONDETERMINISTIC, Evidence())
    assert [list(d.places or ()) for d in comparison.open] == [["root['dict'][1][1]"]]


def nudged(low: object, high: object, nan: object) -> Observation:
    like = np.zeros(np.shape(low), np.float32)
    return observation({"return": (like, {"low": low, "high": high, "nan": nan})})


def test_a_value_that_nudged_eager_reaches_is_excused():
    eager, comparison = against(f32([3.0, 1.0]), f32([4.0, 1.0]))
    excuse_by_nudge(comparison, eager, [nudged([3, 1], [4, 1], [0, 0])], {}, Evidence())
    assert comparison.equal


def test_a_value_beyond_the_nudged_range_is_not():
    eager, comparison = against(f32([3.0, 1.0]), f32([5.0, 1.0]))
    excuse_by_nudge(comparison, eager, [nudged([3, 1], [4, 1], [0, 0])], {}, Evidence())
    assert not comparison.equal


def test_an_integer_flip_is_excused_only_where_nudging_flips_it():
    eager, comparison = against(np.array([3, 7]), np.array([4, 8]))
    excuse_by_nudge(comparison, eager, [nudged([3, 7], [4, 7], [0, 0])], {}, Evidence())
    assert [int(n) for n in np.flatnonzero(comparison.open[0].left)] == [1]


def test_nan_is_excused_where_a_nudged_run_has_it():
    eager, comparison = against(f32([1.0, 1.0]), f32([np.nan, np.nan]))
    excuse_by_nudge(comparison, eager, [nudged([1, 1], [1, 1], [1, 0])], {}, Evidence())
    assert [int(n) for n in np.flatnonzero(comparison.open[0].left)] == [1]


def test_what_two_eager_runs_disagree_on_is_not_the_compilers():
    eager, comparison = against(f32([1.0, 2.0]), f32([5.0, 6.0]))
    control = compare(eager, observation({"return": f32([9.0, 2.0])}))
    excuse_by_control(comparison, control, NoiseKind.UNINITIALISED, Evidence())
    assert [int(n) for n in np.flatnonzero(comparison.open[0].left)] == [1]


def test_only_what_vanishes_is_explained_by_another_compiled_run():
    _, comparison = against(f32([1.0, 2.0]), f32([5.0, 6.0]))
    _, other = against(f32([1.0, 2.0]), f32([1.0, 6.0]))
    excuse_by_vanishing(comparison, other, NoiseKind.LOW_PRECISION, {}, Evidence())
    assert [int(n) for n in np.flatnonzero(comparison.open[0].left)] == [1]


def test_a_nan_in_the_other_run_does_not_make_a_wrong_value_vanish():
    _, comparison = against(f32([1.0, 2.0]), f32([5.0, 6.0]))
    _, other = against(f32([1.0, 2.0]), f32([np.nan, 2.0]))
    excuse_by_vanishing(comparison, other, NoiseKind.RANDOM_STREAM, {}, Evidence())
    assert comparison.open[0].left is not None
    assert comparison.open[0].left.tolist() == [True, False]


def test_symptom_nan_goes_with_the_last_nan():
    _, comparison = against(f32([1.0, 2.0]), f32([np.nan, 6.0]))
    assert comparison.open[0].symptom is Symptom.NAN
    comparison.open[0].excuse(NoiseKind.UNINITIALISED, np.array([True, False]))
    assert comparison.open[0].symptom is Symptom.VALUE


def test_only_eagers_overflow_in_half_is_excused_where_compiled_is_right():
    for dtype, truth, compiled, excused in (
        (np.float16, 55252.0, 55200.0, True),
        (np.float16, 55252.0, 54000.0, False),
        (np.float16, 1e5, 65504.0, False),
        (np.float32, 55252.0, 55252.0, False),
    ):
        eager = np.array([np.inf, 2.0], dtype)
        _, comparison = against(eager, np.array([compiled, 2.0], dtype))
        excuse_eagers_overflow(comparison, shadow_of(eager, [truth, 2.0]), {}, Evidence())
        assert comparison.equal is excused, (truth, compiled)


def test_units_in_the_last_place():
    assert ulp(np.array([1.0]), "float32")[0] == 2.0**-23
    assert ulp(np.array([1.0]), "bfloat16")[0] == 2.0**-7
    assert ulp(np.array([0.0]), "float16")[0] == 2.0**-24
    assert ulp(np.array([1.5]), "float64")[0] == np.spacing(1.5)


def test_half_and_eight_bit_floats_are_decoded_exactly():
    assert decode(b"\x80\x3f\x00\xc0", "bfloat16", (2,)).tolist() == [1.0, -2.0]
    assert decode(b"\x38\x7e", "float8_e4m3fn", (2,)).tolist() == [1.0, 448.0]
    assert decode(b"\x3c\x7b", "float8_e5m2", (2,)).tolist() == [1.0, 57344.0]
    assert np.isnan(decode(b"\x80", "float8_e4m3fnuz", (1,)))[0]
