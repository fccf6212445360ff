"""Same bug or not: the predicate that keeps a reduction from sliding to another failure."""

from dataclasses import replace

import pytest

from reducers.oracle import Kind
from store.records import Difference, Noise, NoiseKind, Outcome, Stage, Symptom, Verdict, Warning
from workbench.sameness import bug_of, fingerprint, judged, raises_alike


def finding(*differences: Difference, **changes) -> Verdict:
    symptoms = tuple(dict.fromkeys(d.symptom for d in differences))
    return replace(Verdict(Outcome.MISMATCH, symptoms=symptoms, stage=Stage.INDUCTOR, differences=differences), **changes)


NAN = Difference("return[1]", Symptom.NAN, change="nan->finite")
LARGE = Difference("return[0]", Symptom.VALUE, change="finite:large")
SMALL = Difference("return[0]", Symptom.VALUE, change="finite:small")


def test_the_bug_itself_is_the_same_and_its_paths_are_named():
    verdict = finding(NAN, LARGE)
    bug = bug_of(verdict)
    assert bug is not None
    assert judged(bug, verdict) == (Kind.SAME, ("return[1]",))


def test_it_may_show_in_another_place():
    bug = bug_of(finding(NAN))
    assert judged(bug, finding(replace(NAN, path="return"))) == (Kind.SAME, ("return",))


@pytest.mark.parametrize(
    "other",
    [
        finding(LARGE),
        finding(replace(NAN, change="finite->nan")),
        finding(replace(NAN, symptom=Symptom.GRADIENT)),
        finding(NAN, stage=Stage.AOT),
        finding(NAN, outcome=Outcome.ERROR),
        finding(replace(NAN, excused=NoiseKind.ROUNDING)),
    ],
    ids=["another change", "the reverse change", "another symptom", "another stage", "a crash", "only excused"],
)
def test_another_failure_is_different(other):
    assert judged(bug_of(finding(NAN)), other)[0] is Kind.DIFFERENT


def test_a_large_change_must_not_shrink_into_a_small_one_but_may_grow():
    assert judged(bug_of(finding(LARGE)), finding(SMALL))[0] is Kind.DIFFERENT
    assert judged(bug_of(finding(SMALL)), finding(LARGE))[0] is Kind.SAME


def test_new_doubtful_ground_is_refused_but_what_was_there_stays():
    shaky = finding(NAN, warnings=(Warning.DUPLICATE_INDICES,))
    assert judged(bug_of(finding(NAN)), shaky)[0] is Kind.DRIFTED
    assert judged(bug_of(shaky), shaky)[0] is Kind.SAME
    assert judged(bug_of(shaky), finding(NAN))[0] is Kind.SAME


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Verdict(Outcome.AGREE), Kind.AGREE),
        (Verdict(Outcome.NOISE, noise=Noise(NoiseKind.ROUNDING)), Kind.AGREE),
        (Verdict(Outcome.INVALID), Kind.INVALID),
        (Verdict(Outcome.UNDECIDED, "inductor run took longer than 60 s"), Kind.TIMEOUT),
        (Verdict(Outcome.UNDECIDED, "inductor run ended without a result"), Kind.UNDECIDED),
    ],
)
def test_what_is_no_finding_is_named(outcome, kind):
    assert judged(bug_of(finding(NAN)), outcome)[0] is kind


def test_a_crash_with_another_message_is_another_crash():
    def crash(text):
        told = Difference("exception", Symptom.EXCEPTION, change="raises:RuntimeError", detail=text)
        return finding(told, outcome=Outcome.ERROR)

    bug = bug_of(crash("RuntimeError: expected scalar type Float but found Half at 'x1' shape 4"))
    assert judged(bug, crash("RuntimeError: expected scalar type Float but found Half at 'y' shape 17"))[0] is Kind.SAME
    assert judged(bug, crash("RuntimeError: index out of range in self"))[0] is Kind.DIFFERENT


def test_agreement_is_no_bug_and_has_no_fingerprint():
    assert bug_of(Verdict(Outcome.AGREE)) is None
    assert fingerprint(Verdict(Outcome.AGREE)) == ""
    assert fingerprint(finding(NAN, LARGE)) == "inductor | nan nan->finite | value finite:large"


def test_another_guilty_pass_is_another_bug_but_only_where_it_was_asked_for():
    bug = bug_of(finding(NAN, guilty="lowerings aten.copy", guilty_asked=True))
    assert judged(bug, finding(NAN, guilty="lowerings aten.add", guilty_asked=True))[0] is Kind.SAME
    assert judged(bug, finding(NAN, guilty="post_grad_passes remove_noop_ops", guilty_asked=True))[0] is Kind.DIFFERENT
    assert judged(bug, finding(NAN, guilty=None, guilty_asked=True))[0] is Kind.DIFFERENT
    assert judged(bug, finding(NAN))[0] is Kind.SAME


def test_one_wrong_write_may_show_at_either_end_where_the_original_shows_both():
    written = Difference("inputs[0]", Symptom.MUTATION, change="nan->finite")
    both = bug_of(finding(NAN, written))
    assert judged(both, finding(written)) == (Kind.SAME, ("inputs[0]",))
    assert judged(both, finding(NAN))[0] is Kind.SAME
    assert judged(both, finding(replace(written, change="finite:large")))[0] is Kind.DIFFERENT
    assert judged(bug_of(finding(NAN)), finding(written))[0] is Kind.DIFFERENT  # a reader would look for a NaN in vain
    assert judged(bug_of(finding(written)), finding(NAN))[0] is Kind.DIFFERENT


def test_eager_has_to_raise_the_same_error_as_in_the_original():
    told = Difference("exception", Symptom.MISSING_ERROR, change="missing_error", detail="eager raises ValueError: target out of range, compiled runs")
    bug = bug_of(finding(told))
    assert raises_alike(bug, "ValueError: target 7 out of range")
    assert not raises_alike(bug, "TypeError: fn() missing 1 required positional argument")


def test_memory_that_is_wrongly_shared_is_the_bug_whether_or_not_a_write_shows_it():
    shared = Difference("return[0]", Symptom.ALIAS, change="alias")
    assert judged(bug_of(finding(LARGE, shared)), finding(shared)) == (Kind.SAME, ("return[0]",))
    assert judged(bug_of(finding(LARGE)), finding(shared))[0] is Kind.DIFFERENT
