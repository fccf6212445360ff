"""Everything a person changes can be taken back, in one step however many findings it was, also tomorrow."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from store import open_store
from store.errors import NotFoundError, WorkbenchError
from store.records import Outcome, Program, Signature, State, Symptom, Verdict
from store.states import TRANSITIONS


def test_bulk_change_is_one_step(store, add):
    ids = [add(f"return x * {i}").id for i in range(20)]
    store.set_state(ids, State.TRIAGED, actor="ann")
    assert store.undo("ann") == "undone: state of 20 findings"
    assert {r.state for r in store.find()} == {State.NEW}
    assert store.redo("ann") == "done again: state of 20 findings"
    assert {r.state for r in store.find()} == {State.TRIAGED}


def test_undo_survives_a_restart(path, make):
    with open_store(path) as store:
        row = store.add_finding(**make())
        store.set_state([row.id], State.WONTFIX, actor="ann")
        store.label([row.id], add=["a"], actor="ann")
    with open_store(path) as store:
        store.undo("ann")
        store.undo("ann")
        assert (store.finding(row.id).state, store.finding(row.id).labels) == (State.NEW, ())
    with open_store(path) as store:
        store.redo("ann")
        assert store.finding(row.id).state is State.WONTFIX


def test_nothing_to_undo_says_nothing(store, add):
    add()
    assert store.undo("ann") == ""
    assert store.redo("ann") == ""


def test_undo_is_a_persons_own(store, add):
    row = add()
    store.assign([row.id], "bob", actor="bob")
    store.set_state([row.id], State.TRIAGED, actor="ann")
    assert store.undo("bob") == f"undone: assignee of finding {row.id}"
    assert store.finding(row.id).state is State.TRIAGED


def test_what_somebody_else_changed_since_is_left_alone(store, add):
    a, b = add(), add("return x * 2")
    store.set_state([a.id, b.id], State.TRIAGED, actor="ann")
    store.set_state([b.id], State.REPORTED, actor="bob")
    assert store.undo("ann") == f"undone: state of finding {a.id}; 1 left alone, changed since"
    assert [store.finding(i).state for i in (a.id, b.id)] == [State.NEW, State.REPORTED]


def test_undo_gets_past_a_step_of_which_nothing_is_left(store, add):
    row = add()
    store.label([row.id], add=["x"], actor="ann")
    store.assign([row.id], "ann", actor="ann")
    store.assign([row.id], "bob", actor="bob")
    assert "left alone" in store.undo("ann")
    assert store.undo("ann") == f"undone: label of finding {row.id}"
    assert (store.finding(row.id).assignee, store.finding(row.id).labels) == ("bob", ())


def test_undo_of_a_label_leaves_other_labels(store, add):
    row = add()
    store.label([row.id], add=["a"], actor="ann")
    store.label([row.id], add=["b"], actor="bob")
    store.undo("ann")
    assert store.finding(row.id).labels == ("b",)


def test_new_change_ends_redo(store, add):
    row = add()
    store.assign([row.id], "ann", actor="ann")
    store.undo("ann")
    store.label([row.id], add=["x"], actor="ann")
    assert store.redo("ann") == ""
    assert store.finding(row.id).assignee == ""


def test_any_step_of_the_history_can_be_undone_once(store, add):
    row = add()
    store.assign([row.id], "ann", actor="ann")
    step = store.events(row.id)[0].step
    store.label([row.id], add=["x"], actor="ann")
    store.undo("bob", step=step)
    assert (store.finding(row.id).assignee, store.finding(row.id).labels) == ("", ("x",))
    with pytest.raises(NotFoundError, match="undone already"):
        store.undo("bob", step=step)
    for wrong in (1, 999):  # the step that created it, and none
        with pytest.raises(NotFoundError, match="no step"):
            store.undo("bob", step=wrong)


LABELS = ("a", "b", "topic: fuzzer")


class TriageMachine(RuleBasedStateMachine):
    """One person's changes against a model that keeps whole snapshots, with restarts between."""

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.db"
        self.store = open_store(self.path)
        self.ids = [self.keep(number) for number in range(3)]
        self.past, self.future = [], []
        self.now = {i: ("new", None, frozenset(), "") for i in self.ids}

    def keep(self, number):
        verdict, signature = Verdict(Outcome.MISMATCH), Signature(None, None, (Symptom.VALUE,))
        return self.store.add_finding(Program(f"fn = {number}"), verdict, signature=signature, origin="fuzz").id

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def change(self, after):
        if after != self.now:
            self.past.append(self.now)
            self.future.clear()
            self.now = after

    @rule(data=st.data(), state=st.sampled_from(State))
    def set_state(self, data, state):
        ids = data.draw(st.lists(st.sampled_from(self.ids), min_size=1, max_size=3, unique=True))
        target = next((i for i in self.ids if i not in ids), None) if state is State.DUPLICATE else None
        if state is State.DUPLICATE and (target is None or self.now[target][0] == "duplicate"):
            return
        allowed = all(state == self.now[i][0] or state in TRANSITIONS[State(self.now[i][0])] for i in ids)
        if not allowed:
            with pytest.raises(WorkbenchError):
                self.store.set_state(ids, state, actor="ann", duplicate_of=target)
            return
        self.store.set_state(ids, state, actor="ann", duplicate_of=target)
        self.change({i: (state.value, target, *v[2:]) if i in ids else v for i, v in self.now.items()})

    @rule(data=st.data(), on=st.sets(st.sampled_from(LABELS)), off=st.sets(st.sampled_from(LABELS)))
    def label(self, data, on, off):
        ids = data.draw(st.lists(st.sampled_from(self.ids), max_size=3, unique=True))
        off -= on
        self.store.label(ids, add=sorted(on), remove=sorted(off), actor="ann")
        self.change({i: (*v[:2], (v[2] | on) - off, v[3]) if i in ids else v for i, v in self.now.items()})

    @rule(data=st.data(), who=st.sampled_from(["", "ann", "bob"]))
    def assign(self, data, who):
        ids = data.draw(st.lists(st.sampled_from(self.ids), max_size=3, unique=True))
        self.store.assign(ids, who, actor="ann")
        self.change({i: (*v[:3], who) if i in ids else v for i, v in self.now.items()})

    @rule()
    def undo(self):
        said = self.store.undo("ann")
        assert bool(said) == bool(self.past)
        if self.past:
            self.future.append(self.now)
            self.now = self.past.pop()

    @rule()
    def redo(self):
        said = self.store.redo("ann")
        assert bool(said) == bool(self.future)
        if self.future:
            self.past.append(self.now)
            self.now = self.future.pop()

    @precondition(lambda self: hasattr(self, "store"))
    @rule()
    def restart(self):
        self.store.close()
        self.store = open_store(self.path)

    @invariant()
    def store_is_what_the_model_says(self):
        if not hasattr(self, "store"):
            return
        rows = self.store.find(order="id")
        assert {r.id: (r.state.value, r.duplicate_of, frozenset(r.labels), r.assignee) for r in rows} == self.now
        for label in LABELS:  # the tables that filters read say the same as the rows
            assert set(self.store.ids(f'label:"{label}"')) == {i for i, v in self.now.items() if label in v[2]}


TestTriage = TriageMachine.TestCase
TestTriage.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
