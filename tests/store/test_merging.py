"""Two people's stores become one without losing labels, states or history, whichever way and however often they are merged."""

from __future__ import annotations

import shutil
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import events, open_store, times
from store.edits import made_from
from store.errors import StoreError, WorkbenchError
from store.llm_calls import Asked
from store.older import readable
from store.records import Signature, Stage, State, Symptom


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on a second with every look, so that later means later."""
    moment = [datetime(2026, 11, 30, 8, tzinfo=UTC)]

    def now(plus=0.0):
        moment[0] += timedelta(seconds=1)
        return times.as_text(moment[0] + timedelta(seconds=plus))

    monkeypatch.setattr(times, "now", now)
    return now


@pytest.fixture
def ann(tmp_path, clock):
    with open_store(tmp_path / "ann.db") as store:
        yield store


@pytest.fixture
def bob(tmp_path, clock):
    with open_store(tmp_path / "bob.db") as store:
        yield store


def told(store):
    """Everything that people decided and the machine found, without the numbers of this store."""
    found = {}
    every = {row.id: row for row in store.find()}
    for row in every.values():
        original = every[row.duplicate_of].uid if row.duplicate_of else None
        found[row.uid] = (
            row.state,
            row.labels,
            row.assignee,
            row.title,
            original,
            row.count,
            row.created,
            row.seen,
            row.verified,
            row.reduced_sha,
        )
    return found


def histories(store):
    """What happened to each finding, told without numbers; an import's own notes left out."""
    return {
        row.uid: {
            (e.at, e.actor, e.kind, str(e.after.get("labels", e.after.get("state")))) for e in store.events(row.id) if e.kind != "imported"
        }
        for row in store.find()
    }


def test_findings_programs_labels_states_history_and_runs_arrive(ann, bob, make):
    row = bob.add_finding(**make("return x.roll(1)", skeleton=("roll",)))
    bob.label([row.id], add=["odd"], actor="bob")
    bob.set_state([row.id], State.TRIAGED, actor="bob", why="looked at it")
    bob.add_run(row.id, bob.verdict(row.id), purpose="recheck")
    ann.add_finding(**make())
    merged = ann.merge(bob, actor="ann")
    assert (merged.new, merged.known, merged.runs) == (1, 0, 1)
    here = ann.find("label:odd")[0]
    assert (here.state, here.title, here.signature) == (State.TRIAGED, row.title, row.signature)
    assert ann.program(here.id).source == bob.program(row.id).source
    assert ann.verdict(here.id) == bob.verdict(row.id)
    assert [e.why for e in ann.events(here.id) if e.kind == "state"] == ["looked at it"]
    assert [r.purpose for r in ann.runs(here.id)] == ["recheck"]
    assert ann.ids("op:roll") == [here.id]
    assert ann.bucket(here.bucket).leader == here.id


def test_merging_again_changes_nothing_and_counts_nothing_twice(ann, bob, make):
    for _ in range(3):
        bob.add_finding(**make())
    for _ in range(2):
        ann.add_finding(**make())
    ann.label([1], add=["a"], actor="ann")
    bob.label([1], add=["b"], actor="bob")
    assert ann.merge(bob, actor="ann").known == 1
    assert ann.finding(1).count == 5
    first, events_before = told(ann), len(ann.events(None, None))
    again = ann.merge(bob, actor="ann")
    assert (again.new, again.changed, again.events, again.runs) == (0, 0, 0, 0)
    assert (told(ann), len(ann.events(None, None))) == (first, events_before)
    bob.merge(ann, actor="bob")
    assert bob.finding(1).count == 5
    ann.merge(bob, actor="ann")
    assert ann.finding(1).count == 5
    ann.add_finding(**make())
    bob.merge(ann, actor="bob")
    assert bob.finding(1).count == 6


def test_counts_that_come_by_way_of_a_third_store_are_counted_once(ann, bob, tmp_path, make):
    ann.add_finding(**make())
    bob.add_finding(**make())
    with open_store(tmp_path / "cleo.db") as cleo:
        cleo.merge(ann, actor="cleo")
        cleo.merge(bob, actor="cleo")
        assert cleo.find()[0].count == 2
        ann.merge(bob, actor="ann")
        ann.merge(cleo, actor="ann")
        assert ann.finding(1).count == 2


def test_labels_of_both_stay_and_a_label_taken_off_later_stays_off(ann, bob, make):
    ann.add_finding(**make())
    ann.label([1], add=["old", "kept"], actor="ann")
    bob.merge(ann, actor="bob")
    bob.label([1], add=["bobs"], remove=["old"], actor="bob")
    ann.label([1], add=["anns"], actor="ann")
    ann.merge(bob, actor="ann")
    assert ann.finding(1).labels == ("anns", "bobs", "kept")


def test_the_later_decision_holds_and_both_stand_in_the_history(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make())
    bob.set_state([1], State.NOISE, actor="bob", why="ties")
    ann.set_state([1], State.TRIAGED, actor="ann", why="real")
    bob.merge(ann, actor="bob")
    ann.merge(bob, actor="ann")
    for store in (ann, bob):
        assert store.finding(1).state is State.TRIAGED
        assert {e.why for e in store.events(1) if e.kind == "state"} == {"ties", "real"}


def test_that_somebody_else_found_or_verified_it_later_overrules_no_decision(ann, bob, make):
    for number in range(2):
        ann.add_finding(**make(f"return x * {number}"))
    ann.set_state([1], State.NOISE, actor="ann")
    for number in range(2):
        bob.add_finding(**make(f"return x * {number}"))  # later, and new there
        bob.save_verified(number + 1, 3, 3)
    ann.merge(bob, actor="ann")
    assert [ann.finding(i).state for i in (1, 2)] == [State.NOISE, State.CONFIRMED]
    assert ann.finding(1).verified == (3, 3)
    bob.merge(ann, actor="bob")
    assert told(bob) == told(ann)


def test_seen_again_elsewhere_regresses_what_was_fixed_and_nothing_else(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make())
    bob.set_state([1], State.FIXED, actor="bob", torch="2.13.0")
    ann.merge(bob, actor="ann")
    assert ann.finding(1).state is State.FIXED
    bob.add_finding(**make(torch="2.14.0"))
    ann.merge(bob, actor="ann")
    assert ann.finding(1).state is State.REGRESSED


def test_an_earlier_decision_that_was_imported_late_does_not_beat_a_later_one(ann, bob, tmp_path, make):
    for store in (ann, bob):
        store.add_finding(**make())
    with open_store(tmp_path / "cleo.db") as cleo:
        cleo.add_finding(**make())
        bob.set_state([1], State.NOISE, actor="bob")
        cleo.set_state([1], State.TRIAGED, actor="cleo")
        ann.merge(bob, actor="ann")  # after cleo's decision, but it is bob's older one
        ann.merge(cleo, actor="ann")
        assert ann.finding(1).state is State.TRIAGED


def test_copies_of_one_file_that_went_their_own_ways_come_together(ann, tmp_path, make):
    for number in range(3):
        ann.add_finding(**make(f"return x * {number}"))
    ann.backup(tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db") as copy:
        copy.label([1, 2], add=["copied"], actor="bob")
        copy.add_finding(**make("return x - 1"))
        ann.label([1], add=["anns"], actor="ann")
        ann.set_state([3], State.EXPECTED, actor="ann")
        assert ann.merge(copy, actor="ann").new == 1
        assert ann.finding(1).labels == ("anns", "copied")
        copy.merge(ann, actor="bob")
        assert told(copy) == told(ann)
        assert histories(copy) == histories(ann)


def test_undo_takes_a_whole_import_back_and_redo_brings_it_again(ann, bob, make):
    ann.add_finding(**make())
    bob.add_finding(**make())
    bob.add_finding(**make("return x * 2"))
    bob.label([1], add=["b"], actor="bob")
    bob.set_state([1], State.NOISE, actor="bob")
    before = told(ann)
    ann.merge(bob, actor="ann")
    after = told(ann)
    assert len(after) == 2
    ann.undo("ann")
    assert {uid: t[:4] for uid, t in told(ann).items()} == {uid: t[:4] for uid, t in before.items()}
    ann.redo("ann")
    assert told(ann) == after


def test_nobody_undoes_or_redoes_steps_of_another_store(ann, bob, make):
    bob.add_finding(**make())
    bob.label([1], add=["x"], actor="ann")  # the same name in both stores
    bob.undo("ann")
    bob.label([1], add=["y"], actor="ann")
    ann.merge(bob, actor="importer")
    assert ann.undo("ann") == ""
    assert ann.redo("ann") == ""
    assert ann.finding(1).labels == ("y",)


def test_what_was_deleted_here_stays_deleted_and_is_told(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make())
    ann.delete([1], actor="ann")
    assert ann.merge(bob, actor="ann").deleted == 1
    assert ann.count() == 0


def test_what_was_deleted_there_is_kept_here(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make())
    bob.delete([1], actor="bob")
    ann.merge(bob, actor="ann")
    assert ann.count() == 1


def test_duplicates_point_to_the_same_finding_under_its_number_here(ann, bob, make):
    ann.add_finding(**make("return x * 7"))
    bob.add_finding(**make("return x * 1"))
    bob.add_finding(**make("return x * 2"))
    bob.set_state([1], State.DUPLICATE, actor="bob", duplicate_of=2)
    ann.merge(bob, actor="ann")
    copy = ann.find("state:duplicate")[0]
    assert ann.program(copy.duplicate_of).source == bob.program(2).source


def test_findings_that_are_each_called_a_duplicate_of_the_other_stay_and_are_told(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make("return x * 1"))
        store.add_finding(**make("return x * 2"))
    ann.set_state([1], State.DUPLICATE, actor="ann", duplicate_of=2)
    bob.set_state([2], State.DUPLICATE, actor="bob", duplicate_of=1)
    merged = ann.merge(bob, actor="ann")
    assert "duplicate of the other" in merged.conflicts[0]
    assert (ann.finding(1).duplicate_of, ann.finding(2).duplicate_of) == (2, None)


def test_reductions_arrive_for_findings_that_are_not_reduced_here(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make("y = x + 1\n    return y.flip(0)"))
    smaller = make("return x.flip(0)")
    signature = Signature(Stage.INDUCTOR, "post_grad", (Symptom.VALUE,), ("flip",), final=True)
    bob.save_reduction(1, smaller["program"], smaller["verdict"], signature, {"oracle_calls": 9}, final=True)
    assert ann.merge(bob, actor="ann").reduced == 1
    assert ann.reduced(1).source == smaller["program"].source
    assert ann.statistics(1) == {"oracle_calls": 9}
    assert (ann.finding(1).signature, ann.finding(1).final) == (signature.text(), True)
    assert ann.merge(bob, actor="ann").reduced == 0


def test_buckets_of_equal_signatures_are_one_and_split_off_ones_stay_apart(ann, bob, make):
    ann.add_finding(**make("return x * 0"))
    for number in range(1, 5):
        bob.add_finding(**make(f"return x * {number}"))
    apart = bob.split([3, 4], actor="bob")
    assert len(bob.ids(f"bucket:{apart}")) == 2
    ann.merge(bob, actor="ann")
    together = {row.bucket for row in ann.find()}
    assert len(together) == 2
    assert len(ann.ids(f"bucket:{ann.finding(1).bucket}")) == 3
    bob.add_finding(**make("return x * 5"))
    bob.merge_buckets(apart, [1], actor="bob")
    ann.merge(bob, actor="ann")
    assert ann.count() == 6


def test_buckets_that_were_merged_there_are_merged_here(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make("return x * 1", skeleton=("a",)))
        store.add_finding(**make("return x * 2", skeleton=("b",)))
    bob.merge_buckets(1, [2], actor="bob")
    ann.merge(bob, actor="ann")
    assert ann.finding(1).bucket == ann.finding(2).bucket
    ann.undo("ann")
    assert ann.finding(1).bucket != ann.finding(2).bucket


def test_campaigns_arrive_once_and_do_not_run_here(ann, bob, make):
    number = bob.start_campaign({"seed": 1})
    bob.add_finding(**make(campaign=number))
    for _ in range(2):
        ann.merge(bob, actor="ann")
    assert [(c.settings, c.state) for c in ann.campaigns()] == [({"seed": 1}, "interrupted")]
    assert ann.find()[0].campaign == ann.campaigns()[0].id


def gated(store, finding, result):
    """The gates of a finding have been run."""
    store.enqueue("gates", finding, actor=store.path.stem)
    assert store.finish(store.claim(["gates"], "worker"), result)


def test_the_last_run_of_the_gates_arrives_once_and_the_newer_of_both_counts(ann, bob, make):
    bob.add_finding(**make())
    gated(bob, 1, {"gates": ["old"]})
    gated(bob, 1, {"gates": ["theirs"]})
    assert ann.merge(bob, actor="ann").gates == 1
    assert ann.merge(bob, actor="ann").gates == 0
    assert [job.result for job in ann.jobs("done", kind="gates", finding=1)] == [{"gates": ["theirs"]}]
    gated(bob, 1, {"gates": ["theirs, between"]})
    gated(ann, 1, {"gates": ["mine, later"]})
    ann.merge(bob, actor="ann")
    assert [job.result["gates"] for job in ann.jobs(kind="gates")] == [["mine, later"], ["theirs, between"], ["theirs"]]


def test_what_stays_behind_is_counted(ann, bob, make, tmp_path):
    bob.add_finding(**make())
    asked = Asked(purpose="mutant", prompt="p", messages="[]", key="k", model="m", host="h", answer="!", outcome="valid")
    bob.add_llm_call(asked)
    bob.enqueue("reduce", 1, actor="bob")
    merged = ann.merge(bob, actor="ann")
    assert (merged.left_calls, merged.left_jobs) == (1, 1)
    assert not ann.jobs()
    bob.backup(tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db") as copy:  # a copy of oneself: its calls are here
        assert bob.merge(copy, actor="bob").left_calls == 0


def test_a_store_is_not_merged_into_itself(ann, tmp_path):
    with open_store(tmp_path / "ann.db", readonly=True) as same, pytest.raises(StoreError, match="this store itself"):
        ann.merge(same, actor="ann")


def test_an_older_store_is_read_by_way_of_a_copy_and_left_as_it_is(ann, tmp_path, make):
    path = tmp_path / "old.db"
    with open_store(path) as old:
        old.add_finding(**make())
    raw = sqlite3.connect(path)
    for table in ("sightings", "identity"):
        raw.execute(f"DROP TABLE {table}")
    raw.execute("DROP INDEX finding_symptoms_finding")
    raw.execute("DELETE FROM _sqlite_migrations WHERE name <> '0001_first'")
    raw.execute("PRAGMA user_version = 1")
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE name LIKE 'llm%' AND type = 'table'").fetchall():
        raw.execute(f"DROP TABLE {name}")
    raw.commit()
    raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw.close()
    before = path.read_bytes()
    with readable(path) as store:
        assert ann.merge(store, actor="ann").new == 1
    assert path.read_bytes() == before


def test_a_failed_import_leaves_nothing_behind(ann, bob, make, monkeypatch):
    bob.add_finding(**make())
    bob.add_finding(**make("return x * 2"))
    calls = []

    def broken(*args, **kwargs):
        calls.append(args)
        if len(calls) > 1:
            raise sqlite3.OperationalError("boom")

    monkeypatch.setattr("store.merging.search.index", broken)
    with pytest.raises(sqlite3.OperationalError):
        ann.merge(bob, actor="ann")
    assert ann.count() == 0
    assert bob.count() == 2


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob"]),
        st.sampled_from(["add", "label", "unlabel", "state", "assign", "title", "undo", "redo", "duplicate", "delete", "verify", "again"]),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=14,
)


def act(store, who, what, first, second, make):
    ids = store.ids(order="id")
    one = ids[first % len(ids)] if ids else 0
    two = ids[second % len(ids)] if ids else 0
    match what:
        case "add":
            store.add_finding(**make(f"return x * {first}"))
        case "label":
            store.label([one], add=[f"l{second}"], actor=who)
        case "unlabel":
            store.label([one], remove=[f"l{second}"], actor=who)
        case "state":
            store.set_state([one], (State.NOISE, State.TRIAGED, State.CONFIRMED, State.FIXED)[second], actor=who)
        case "assign":
            store.assign([one], ("x", "y", "z", "")[second], actor=who)
        case "title":
            store.rename(one, f"title {second}", actor=who)
        case "verify":
            store.save_verified(one, second, 3)
        case "again":
            store.add_finding(**make(f"return x * {first}", torch=f"2.{13 + second}.0"))
        case "undo":
            store.undo(who)
        case "redo":
            store.redo(who)
        case "duplicate":
            store.set_state([one], State.DUPLICATE, actor=who, duplicate_of=two)


@given(actions=ACTIONS, shared=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_both_ways_of_merging_end_in_the_same_decisions(actions, shared, tmp_path_factory, make, clock):
    folder = tmp_path_factory.mktemp("merge")
    with open_store(folder / "ann.db") as ann:
        for number in range(3):
            ann.add_finding(**make(f"return x * {number}"))
        if shared:
            ann.backup(folder / "bob.db")
    with open_store(folder / "ann.db") as ann, open_store(folder / "bob.db") as bob:
        for who, what, first, second in actions:
            store = ann if who == "ann" else bob
            try:
                act(store, who, what, first, second, make)
            except WorkbenchError:
                continue
        conflicts = ann.merge(bob, actor="ann").conflicts
        ann.backup(folder / "middle.db")
        conflicts += bob.merge(ann, actor="bob").conflicts
        if not conflicts:
            assert told(ann) == told(bob)
        assert histories(ann) == histories(bob)
        assert ann.merge(bob, actor="ann").events == 0
        for store in (ann, bob):
            with store._connection.read() as c:
                assert c.execute("PRAGMA foreign_key_check").fetchall() == []
                assert all(row["count"] >= 1 for row in c.execute("SELECT count FROM findings"))
    shutil.rmtree(folder)


def test_history_is_told_by_time_also_when_an_import_brings_older_events(ann, bob, make):
    for store in (ann, bob):
        store.add_finding(**make())
    bob.label([1], add=["early"], actor="bob")
    ann.label([1], add=["late"], actor="ann")
    ann.merge(bob, actor="ann")
    with ann._connection.read() as c:
        at = [e.at for e in events.history(c, 1, None)]
    assert at == sorted(at, reverse=True)


def test_where_an_edited_program_came_from_is_told_in_the_numbers_of_the_store_it_is_read_in(ann, bob, make):
    ann.add_finding(**make("return x + 100"))
    source = bob.add_finding(**make("return x + 1"))
    became = bob.add_finding(**make("return x + 2", origin="edit"))
    bob.enqueue("edit", source.id, {"program": "x"}, actor="bob")
    bob.tell_edit(bob.claim(["edit"], "w"), "mismatch", "they differ", into=became.id)
    ann.merge(bob, actor="ann")
    here = {row.uid: row.id for row in ann.find()}
    assert here[became.uid] != became.id
    edited = [e for e in ann.events(here[source.uid]) if e.kind == "edited"]
    assert [e.after for e in edited] == [{"verdict": "mismatch", "into": here[became.uid]}]  # the job stays behind
    assert made_from(ann.events(here[became.uid])) == here[source.uid]
    assert ann.merge(bob, actor="ann").events == 0
