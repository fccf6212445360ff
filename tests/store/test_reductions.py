"""A reduction is kept as it goes and decides what a finding is called when it ends."""

from store.records import Configuration, Signature, Stage, Symptom
from store.rows import Reduction


def test_every_smaller_program_is_kept_and_only_the_final_one_renames_the_finding(store, add, make):
    row = add("y = x\n    y = y * 2\n    return y", skeleton=("mul", "filler"))
    half = make("y = x\n    return y", configuration=Configuration(dynamic=True))
    unfinished = store.save_reduction(row.id, half["program"], half["verdict"], half["signature"], {"calls": 4}, final=False)
    assert (unfinished.reduction, unfinished.statements, unfinished.title, unfinished.final) == (Reduction.RUNNING, 2, row.title, False)
    assert store.reduced(row.id).source == half["program"].source
    assert store.reduced(row.id).configuration == Configuration(dynamic=True)
    assert store.program(row.id).configuration == Configuration()

    small = make("return x", symptoms=(Symptom.NAN,), stage=Stage.AOT, dtype="float16")
    signature = Signature(Stage.AOT, "partitioner", (Symptom.NAN,), ("roll",), final=True)
    done = store.save_reduction(row.id, small["program"], small["verdict"], signature, {"calls": 9}, final=True)
    assert (done.reduction, done.statements, done.stage, done.symptoms) == (Reduction.DONE, 1, Stage.AOT, (Symptom.NAN,))
    assert (done.title, done.guilty, done.ops, done.dtype) == (
        "wrong NaN or infinity: roll (aot, partitioner)",
        "partitioner",
        ("roll",),
        "float16",
    )
    assert store.reduced_verdict(row.id) == small["verdict"]
    assert store.statistics(row.id) == {"calls": 9}
    assert store.ids("op:roll symptom:nan stage:aot") == [row.id]
    assert store.ids("op:filler") == store.ids("symptom:value") == []
    event = store.events(row.id)[0]
    assert (event.kind, event.before, event.after) == ("reduced", {"statements": 2}, {"statements": 1})


def test_title_that_a_person_gave_stays(store, add, make):
    row, small = add(), make("return x")
    store.rename(row.id, "mine", actor="ann")
    assert store.save_reduction(row.id, small["program"], small["verdict"], small["signature"], {}, final=True).title == "mine"


def test_before_the_first_reduction_there_is_nothing(store, add):
    row = add()
    assert store.reduced(row.id) is store.reduced_verdict(row.id) is store.progress(row.id) is store.statistics(row.id) is None
    assert row.reduced_sha is None


def test_progress_is_replaced_and_does_not_touch_the_statistics(store, add, make):
    row, small = add(), make("return x")
    store.save_progress(row.id, {"pass": "configuration", "calls": 3})
    store.save_reduction(row.id, small["program"], small["verdict"], small["signature"], {"calls": 5}, final=False)
    store.save_progress(row.id, {"pass": "statements", "source": "x = 1\n"})
    assert store.progress(row.id) == {"pass": "statements", "source": "x = 1\n"}
    assert store.statistics(row.id) == {"calls": 5}
