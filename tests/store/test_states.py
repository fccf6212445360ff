"""The table of states, and the moves that happen by themselves."""

import itertools

import pytest

from store.errors import NotFoundError, WorkbenchError
from store.records import SIDE_EXITS, State
from store.states import OPEN, TRANSITIONS

MAIN_LINE = [State.NEW, State.CONFIRMED, State.TRIAGED, State.REPORTED, State.FIXED, State.REGRESSED]


def test_table_names_every_state():
    assert set(TRANSITIONS) == set(State)
    assert set(State) - OPEN == SIDE_EXITS | {State.FIXED}


def test_main_line_can_be_walked_and_every_side_exit_left():
    assert all(after in TRANSITIONS[before] for before, after in itertools.pairwise(MAIN_LINE))
    for exit_ in SIDE_EXITS:
        assert exit_ in TRANSITIONS[State.NEW]
        assert {State.NEW, State.CONFIRMED, State.TRIAGED} <= TRANSITIONS[exit_]


def test_only_what_was_fixed_regresses_and_only_side_exits_become_new_again():
    assert {s for s in State if State.REGRESSED in TRANSITIONS[s]} == {State.FIXED}
    assert {s for s in State if State.NEW in TRANSITIONS[s]} == SIDE_EXITS


@pytest.mark.parametrize("old", State)
@pytest.mark.parametrize("new", State)
def test_store_moves_as_the_table_says(store, add, old, new):
    target, row = add(), add("return x * 2")
    path = {State.NEW: [], State.REGRESSED: [State.FIXED, State.REGRESSED]}.get(old, [old])
    for state in path:
        move(store, row, state, target)
    if new is old or new in TRANSITIONS[old]:
        assert move(store, row, new, target) == ([] if new is old else [row.id])
        assert store.finding(row.id).state is new
    else:
        with pytest.raises(WorkbenchError, match=f"is {old} and cannot become {new}") as caught:
            move(store, row, new, target)
        assert "undo" in caught.value.hint
        assert store.finding(row.id).state is old


def move(store, row, state, target):
    return store.set_state([row.id], state, actor="ann", duplicate_of=target.id if state is State.DUPLICATE else None)


def test_bulk_move_is_all_or_nothing(store, add):
    a, b = add(), add("return x * 2")
    store.set_state([b.id], State.FIXED, actor="ann")
    with pytest.raises(WorkbenchError, match="nothing was changed"):
        store.set_state([a.id, b.id], State.NOISE, actor="ann")
    assert store.finding(a.id).state is State.NEW


def test_change_is_in_the_history_with_actor_reason_before_and_after(store, add):
    row = add()
    store.set_state([row.id], State.EXPECTED, actor="ann", why="documented")
    event = store.events(row.id)[0]
    assert (event.kind, event.actor, event.why, event.before["state"], event.after["state"]) == (
        "state",
        "ann",
        "documented",
        "new",
        "expected",
    )


def test_history_cannot_be_rewritten(store, add, path):
    import sqlite3

    add()
    raw = sqlite3.connect(path)
    for sql in ("UPDATE events SET actor = 'x'", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError, match="only ever appended"):
            raw.execute(sql)
    raw.close()


def test_duplicate_points_to_the_original_of_the_chain(store, add):
    a, b, c = add(), add("return x * 2"), add("return x * 3")
    store.set_state([b.id], State.DUPLICATE, actor="ann", duplicate_of=a.id)
    store.set_state([c.id], State.DUPLICATE, actor="ann", duplicate_of=b.id)
    assert store.finding(c.id).duplicate_of == a.id
    store.set_state([c.id], State.TRIAGED, actor="ann")
    assert store.finding(c.id).duplicate_of is None


def test_duplicate_never_of_itself_nor_in_a_circle_nor_of_nothing(store, add):
    a, b = add(), add("return x * 2")
    store.set_state([b.id], State.DUPLICATE, actor="ann", duplicate_of=a.id)
    for ids, of in (([a.id], a.id), ([a.id], b.id), ([a.id, b.id], a.id)):
        with pytest.raises(WorkbenchError, match="duplicate of itself"):
            store.set_state(ids, State.DUPLICATE, actor="ann", duplicate_of=of)
    with pytest.raises(NotFoundError):
        store.set_state([a.id], State.DUPLICATE, actor="ann", duplicate_of=99)
    for state, of in ((State.DUPLICATE, None), (State.NOISE, b.id)):
        with pytest.raises(WorkbenchError, match="a duplicate needs the finding it repeats"):
            store.set_state([a.id], state, actor="ann", duplicate_of=of)


@pytest.mark.parametrize(
    ("same", "of", "state"),
    [(3, 3, State.CONFIRMED), (5, 5, State.CONFIRMED), (2, 2, State.NEW), (2, 3, State.FLAKY), (0, 3, State.FLAKY)],
)
def test_new_finding_is_confirmed_by_three_of_three_cold_runs(store, add, same, of, state):
    row = store.save_verified(add().id, same, of)
    assert (row.state, row.verified) == (state, (same, of))


def test_cold_runs_never_overrule_a_person(store, add):
    row = add()
    store.set_state([row.id], State.EXPECTED, actor="ann")
    assert store.save_verified(row.id, 3, 3).state is State.EXPECTED


def test_flaky_finding_that_then_shows_three_of_three_is_confirmed(store, add):
    row = add()
    assert store.save_verified(row.id, 1, 3).state is State.FLAKY
    assert store.save_verified(row.id, 3, 3).state is State.CONFIRMED


@pytest.mark.parametrize(
    ("fixed_on", "seen_on", "state"),
    [
        ("2.14.0", "2.14.0", State.REGRESSED),
        ("2.14.0", "2.15.0+cpu", State.REGRESSED),
        ("2.14.0", "2.13.0+cpu", State.FIXED),
        ("2.14.0", "2.14.0.dev20261101", State.FIXED),
        ("", "2.13.0+cpu", State.FIXED),  # not known where: only a version newer than the last that showed it counts
        ("", "2.13.1", State.REGRESSED),
        ("2.14.0", "", State.FIXED),
    ],
)
def test_fixed_seen_again_on_a_torch_at_least_as_new_is_regressed(store, make, fixed_on, seen_on, state):
    row = store.add_finding(**make())
    store.set_state([row.id], State.FIXED, actor="ann", torch=fixed_on)
    assert store.add_finding(**make(torch=seen_on)).state is state


def test_recheck_that_shows_it_again_is_a_regression_too(store, make):
    row = store.add_finding(**make())
    store.set_state([row.id], State.FIXED, actor="ann", torch="2.14.0")
    store.add_run(row.id, make(torch="2.14.1")["verdict"], purpose="recheck")
    assert store.finding(row.id).state is State.REGRESSED
    assert store.run_verdict(store.runs(row.id)[0].id).torch == "2.14.1"
