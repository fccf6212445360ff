"""Labels are words; nothing that cannot be asked for again becomes one."""

import pytest

from store.errors import WorkbenchError


def test_labels_go_on_and_off_many_findings(store, add):
    a, b = add(), add("return x * 2")
    assert store.label([a.id, b.id], add=["topic:  fuzzer", "x"], actor="ann") == [a.id, b.id]
    assert store.label([a.id], add=["x"], actor="ann") == []
    assert store.label([a.id, b.id], add=["y"], remove=["x", "never there"], actor="ann") == [a.id, b.id]
    assert store.finding(a.id).labels == ("topic: fuzzer", "y")
    assert store.ids('label:"topic: fuzzer" label:y -label:x') == [b.id, a.id]
    assert store.tally("label") == {"topic: fuzzer": 2, "y": 2}


@pytest.mark.parametrize("text", ["", "   ", "none", "None", "a,b", 'a"b', "x" * 61, "bell\x07", "\udce9"])
def test_text_that_is_no_label_is_refused(store, add, text):
    row = add()
    with pytest.raises(WorkbenchError, match="cannot be a label"):
        store.label([row.id], add=["good", text], actor="ann")
    assert store.finding(row.id).labels == ()


def test_label_on_and_off_at_once_is_refused(store, add):
    with pytest.raises(WorkbenchError, match="at once"):
        store.label([add().id], add=["x"], remove=["x"], actor="ann")
