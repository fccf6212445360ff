"""One bug, one bucket; what brings findings together can be taken back."""

import pytest

from store.errors import NotFoundError, WorkbenchError
from store.records import Signature, Stage, State, Symptom


def final(*skeleton):
    return Signature(Stage.INDUCTOR, None, (Symptom.VALUE,), skeleton, final=True)


def reduce(store, make, row, *skeleton, body="return x", actor="work"):
    small = make(body)
    return store.save_reduction(row.id, small["program"], small["verdict"], final(*skeleton), {"calls": 3}, final=True, actor=actor)


def test_equal_signatures_share_a_bucket_whether_final_or_not(add):
    a, b = add("return x * 1"), add("return x * 2", final=True)
    c = add("return x * 3", skeleton=("roll",))
    d = add("return x * 4", guilty="post_grad")
    assert a.bucket == b.bucket
    assert len({a.bucket, c.bucket, d.bucket}) == 3


def test_bucket_knows_members_counts_and_keys(store, make):
    a = store.add_finding(**make("return x * 1"))
    store.add_finding(**make("return x * 1"))
    store.add_finding(**make("return x * 2"))
    bucket = store.bucket(a.bucket)
    assert (bucket.members, bucket.count, bucket.stage, bucket.symptoms) == (2, 3, Stage.INDUCTOR, (Symptom.VALUE,))
    assert bucket.keys == (a.signature,) == (bucket.signature,)
    assert store.buckets() == [bucket]
    with pytest.raises(NotFoundError):
        store.bucket(99)


def test_leader_is_the_smallest_that_is_reliable_and_not_put_aside(store, add):
    big = add("y = x\n    y = y * 2\n    return y")
    small, smallest = add("y = x\n    return y"), add("return x")

    def leader():
        return store.bucket(big.bucket).leader

    assert leader() == smallest.id
    store.save_verified(smallest.id, 1, 3)
    assert leader() == small.id
    store.set_state([small.id], State.NOISE, actor="ann")
    assert leader() == big.id
    store.undo("ann")
    assert leader() == small.id
    store.delete([small.id, big.id], actor="ann")
    assert leader() == smallest.id
    store.delete([smallest.id], actor="ann")
    assert leader() is None
    assert store.buckets() == []


def test_leader_changes_when_a_member_is_reduced(store, add, make):
    first, second = add("y = x\n    return y"), add("y = x\n    y = y * 2\n    return y")
    assert store.bucket(first.bucket).leader == first.id
    reduce(store, make, second, "flip~")
    assert store.finding(second.id).bucket == first.bucket
    assert store.bucket(first.bucket).leader == second.id


def test_first_final_signature_names_the_bucket_and_both_signatures_lead_there(store, add, make):
    row = add("return x * 1", skeleton=("filler", "flip~"))
    reduced = reduce(store, make, row, "flip~")
    assert (reduced.bucket, reduced.final) == (row.bucket, True)
    assert store.bucket(row.bucket).signature == final("flip~").text()
    assert add("return x * 2", skeleton=("filler", "flip~")).bucket == row.bucket
    assert add("return x * 3", skeleton=("flip~",)).bucket == row.bucket


def test_reduction_to_a_known_signature_brings_its_unreduced_neighbours_along_and_can_be_undone(store, add, make):
    known = reduce(store, make, add("return x * 1", skeleton=("known",)), "flip~")
    row, neighbour = add("return x * 2", skeleton=("filler",)), add("return x * 3", skeleton=("filler",))
    moved = reduce(store, make, row, "flip~", body="return x.flip(0)")
    assert moved.bucket == known.bucket == store.finding(neighbour.id).bucket
    assert add("return x * 4", skeleton=("filler",)).bucket == known.bucket
    assert [e.kind for e in store.events(row.id)][:2] == ["bucket", "reduced"]
    assert store.undo("work") == "undone: bucket of 2 findings"
    assert store.finding(row.id).bucket == store.finding(neighbour.id).bucket == row.bucket
    assert add("return x * 5", skeleton=("filler",)).bucket == row.bucket
    assert store.reduced(row.id).source == make("return x.flip(0)")["program"].source
    store.redo("work")
    assert store.finding(row.id).bucket == known.bucket


def test_member_that_turns_out_to_be_another_bug_leaves_alone(store, add, make):
    first, second, third = (add(f"return x * {i}", skeleton=("filler",)) for i in range(3))
    reduce(store, make, first, "flip~")
    other = reduce(store, make, second, "roll", body="return x.roll(1)")
    assert other.bucket != first.bucket
    assert store.finding(third.id).bucket == first.bucket
    assert store.bucket(other.bucket).leader == second.id


def test_merge_is_one_step_and_later_findings_follow(store, add):
    a, b, c = add("return x * 1", skeleton=("a",)), add("return x * 2", skeleton=("b",)), add("return x * 3", skeleton=("c",))
    assert sorted(store.merge_buckets(a.bucket, [b.bucket, c.bucket, a.bucket], actor="ann")) == [b.id, c.id]
    assert store.bucket(a.bucket).members == 3
    assert add("return x * 4", skeleton=("b",)).bucket == a.bucket
    assert store.undo("ann") == "undone: bucket of 2 findings"
    assert [store.finding(r.id).bucket for r in (a, b, c)] == [a.bucket, b.bucket, c.bucket]
    assert add("return x * 5", skeleton=("b",)).bucket == b.bucket
    with pytest.raises(NotFoundError):
        store.merge_buckets(a.bucket, [99], actor="ann")


def test_split_gives_findings_a_bucket_of_their_own_and_is_one_step(store, add):
    a, b, c = (add(f"return x * {i}") for i in range(3))
    new = store.split([b.id, c.id], actor="ann")
    assert {store.finding(r.id).bucket for r in (b, c)} == {new} != {a.bucket}
    assert add("return x * 9").bucket == a.bucket
    assert store.ids(f"bucket:{new}") == [c.id, b.id]
    store.undo("ann")
    assert store.bucket(a.bucket).members == 4
    with pytest.raises(WorkbenchError):
        store.split([], actor="ann")
