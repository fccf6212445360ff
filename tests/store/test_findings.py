"""A finding is kept once, comes back as it was, and can be put away without losing it."""

import pytest

from store import open_store
from store.errors import NotFoundError, WorkbenchError
from store.records import Configuration, Stage, State, Symptom
from store.rows import Reduction


def test_program_and_verdict_come_back_unchanged(store, make):
    one = make("return x.sort()[1]", configuration=Configuration(dynamic=True, inductor={"cpp.simdlen": 0}))
    row = store.add_finding(**one, seed_name="sorts", characteristic="LC-order", mutators=("transpose",))
    assert store.program(row.id).source == one["program"].source
    assert store.program(row.id).configuration == one["program"].configuration
    assert store.verdict(row.id) == one["verdict"]
    assert (row.seed, row.characteristic, row.code, row.mutators) == ("sorts", "LC-order", "LC", ("transpose",))
    assert (row.stage, row.symptoms, row.dtype, row.ops) == (Stage.INDUCTOR, (Symptom.VALUE,), "float32", ("flip",))
    assert (row.state, row.count, row.reduction, row.verified) == (State.NEW, 1, Reduction.NONE, (0, 0))
    assert row.statements == 1
    assert row.configuration == {"dynamic": True, "inductor": {"cpp.simdlen": 0}}


def test_same_program_and_configuration_is_one_finding_counted_twice(store, make):
    first, second = store.add_finding(**make()), store.add_finding(**make())
    assert second.id == first.id
    assert second.count == 2
    assert second.seen >= first.seen
    assert store.count() == 1
    assert [e.kind for e in store.events(first.id)] == ["created"]


def test_another_configuration_is_another_finding_in_the_same_bucket(store, make):
    first = store.add_finding(**make())
    second = store.add_finding(**make(configuration=Configuration(dynamic=True)))
    assert second.id != first.id
    assert second.uid != first.uid
    assert second.bucket == first.bucket


def test_uid_is_the_same_in_every_store(tmp_path, make):
    uids = set()
    for name in ("one.db", "two.db"):
        with open_store(tmp_path / name) as store:
            store.add_finding(**make(f"return x + {len(uids)}"))
            uids.add(store.add_finding(**make()).uid)
    assert len(uids) == 1


def test_title_says_symptom_op_and_stage(add):
    assert add(skeleton=("in:float", "flip~", "add!", "+call:2")).title == "wrong value: flip, add (inductor)"
    long = add("return x", skeleton=tuple(f"op_with_a_rather_long_name_{i}" for i in range(9)))
    assert len(long.title) <= 120


def test_person_gives_another_title_and_can_take_it_back(store, add):
    row = add()
    store.rename(row.id, "flip reads its own output", actor="ann")
    assert store.finding(row.id).title == "flip reads its own output"
    assert store.ids("output") == [row.id]
    store.undo("ann")
    assert store.finding(row.id).title == row.title
    assert store.ids("output") == []


def test_deleted_finding_is_gone_from_everything_and_undo_brings_it_back(store, add):
    row, other = add(), add("return x * 2", skeleton=("mul",))
    store.label([row.id], add=["keep"], actor="ann")
    assert store.delete([row.id], actor="ann") == [row.id]
    assert store.ids() == [other.id]
    assert store.rows([row.id, other.id]) == [store.finding(other.id)]
    assert store.tally("label") == {}
    assert [b.id for b in store.buckets()] == [other.bucket]
    for ask in (store.finding, store.program, store.verdict):
        with pytest.raises(NotFoundError):
            ask(row.id)
    store.undo("ann")
    assert store.finding(row.id).labels == ("keep",)
    assert store.ids() == [other.id, row.id]


def test_deleted_finding_comes_back_when_it_is_found_again(store, make):
    row = store.add_finding(**make())
    store.delete([row.id], actor="ann")
    assert store.add_finding(**make()).id == row.id
    assert store.finding(row.id).count == 2


def test_missing_finding_is_one_clear_line(store, add):
    with pytest.raises(NotFoundError, match="no finding 77") as caught:
        store.finding(77)
    assert caught.value.exit_code == 4
    with pytest.raises(NotFoundError, match="no finding 77"):
        store.assign([add().id, 77], "ann", actor="ann")
    assert store.finding(1).assignee == ""


@pytest.mark.parametrize("text", ["", "  ", "x" * 121, "bell \x07", "bytes \udcff"])
def test_text_that_is_no_title_is_refused(store, add, text):
    row = add()
    with pytest.raises(WorkbenchError, match="cannot be a title"):
        store.rename(row.id, text, actor="ann")
    assert store.finding(row.id).title == row.title


def test_undecodable_reason_does_not_cost_the_change(store, add):
    row = add()
    store.assign([row.id], " bob  b ", actor="ann", why="caf\udce9")
    assert (store.finding(row.id).assignee, store.events(row.id)[0].why) == ("bob b", "caf?")


def test_orders(store, add):
    a, b = add("y = x + 1\n    return y", torch="2.9.1", skeleton=("add",)), add("return x", torch="2.13.0", skeleton=("mul",))
    assert store.ids(order="id") == [a.id, b.id]
    assert store.ids(order="size") == [b.id, a.id]
    assert store.ids(order="-torch") == [b.id, a.id]  # 2.13 is newer than 2.9
    assert store.ids(order="-count") == [b.id, a.id]
    assert [r.id for r in store.find(order="id", limit=1, offset=1)] == [b.id]
    with pytest.raises(WorkbenchError, match="no order by 'colour'"):
        store.ids(order="colour")


def test_texts_are_kept_once_and_found_by_their_hash(store, make):
    row = store.add_finding(**make())
    store.add_finding(**make(configuration=Configuration(dynamic=True)))
    assert store.text(row.program_sha) == make()["program"].source
    assert store.text("0" * 64) is None


def test_together_keeps_all_or_nothing(store, make):
    def broken():
        with store.together():
            store.add_finding(**make())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert store.count() == 0
    assert store.add_finding(**make()).count == 1


def test_rows_are_plain_json(store, add):
    import json

    assert json.loads(json.dumps(add().to_json()))["symptoms"] == ["value"]
