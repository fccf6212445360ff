"""The schedule finds 1-minimal lists whatever the predicate, and the same ones after every interruption."""

from hypothesis import given
from hypothesis import strategies as st

from reducers.chunks import Cursor, schedule


def minimised(items, wanted):
    """What the schedule leaves of a list; and how often it asked."""
    cursor, asked = None, 0
    while True:
        for run in schedule(len(items), cursor):
            asked += 1
            rest = items[: run.start] + items[run.end :]
            if wanted(rest):
                items, cursor = rest, run.then
                break
        else:
            return items, asked


subsets = st.lists(st.integers(0, 59), max_size=12).map(frozenset)


@given(st.integers(0, 60), subsets)
def test_a_monotone_predicate_leaves_exactly_what_is_needed(count, needed):
    items = list(range(count))
    needed &= set(items)
    left, _ = minimised(items, lambda rest: needed <= set(rest))
    assert left == sorted(needed)


@given(st.integers(0, 40), st.lists(subsets, min_size=1, max_size=4), st.integers(0, 3))
def test_the_result_satisfies_the_predicate_and_no_single_element_can_go(count, groups, parity):
    """Not monotone: any of several groups will do, and the length has to be right."""

    def wanted(rest):
        return any(g & set(range(count)) <= set(rest) for g in groups) and (parity == 0 or len(rest) % 2 == count % 2 or len(rest) > 5)

    left, _ = minimised(list(range(count)), wanted)
    assert wanted(left) or left == list(range(count))
    for i in range(len(left)):
        assert not wanted(left[:i] + left[i + 1 :])


@given(st.integers(1, 200))
def test_one_needed_element_costs_about_two_questions_a_halving(count):
    _, asked = minimised(list(range(count)), lambda rest: count // 2 in rest)
    assert asked <= 4 * count.bit_length() + 4


def test_an_empty_list_asks_nothing():
    assert list(schedule(0)) == []


def test_an_old_cursor_on_a_much_shorter_list_still_ends():
    assert len(list(schedule(2, Cursor(16, 40)))) < 10
