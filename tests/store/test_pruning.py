"""Pruning forgets what was deleted or finished, and nothing else."""

from __future__ import annotations

import sqlite3

import pytest

from store import open_store
from store.records import State


@pytest.fixture
def used(store, make):
    """Five findings: 4 deleted; 5 deleted, but 3 repeats it; a job done, one queued; a remembered verdict."""
    for number in range(5):
        store.add_finding(**make(f"return x * {number}  # {'filler ' * 400}{number}"))
    store.label([4], add=["x"], actor="ann")
    store.add_run(4, store.verdict(4), purpose="recheck")
    store.set_state([3], State.DUPLICATE, actor="ann", duplicate_of=5)
    store.delete([4, 5], actor="ann")
    store.enqueue("recheck", 1, actor="ann")
    store.finish(store.claim(["recheck"], "w"))
    store.enqueue("recheck", 2, actor="ann")
    store.memo_put("key", {"verdict": "agree"})
    return store


def test_what_a_person_edited_is_never_forgotten_while_its_finding_stays(used):
    edited = used.enqueue("edit", 1, {"program": "import torch\n"}, actor="ann")
    used.finish(used.claim(["edit"], "w"), {"verdict": "agree"})
    used.prune(-1)
    assert [j.payload for j in used.jobs() if j.id == edited] == [{"program": "import torch\n"}]


def test_deleted_findings_go_for_good_with_texts_history_and_runs(used, path):
    kept = used.find()
    pruned = used.prune(-1)
    assert (pruned.findings, pruned.jobs, pruned.memo) == (1, 1, 1)
    assert pruned.texts >= 1
    assert used.find() == kept
    assert used.program(1).source
    assert [j.finding_id for j in used.jobs()] == [2]
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT count(*) FROM events WHERE finding_id = 4").fetchone() == (0,)
    assert raw.execute("SELECT count(*) FROM findings").fetchone() == (4,)  # 5 stays: 3 points to it
    assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw.close()


def test_what_is_recent_stays_and_can_still_be_undone(used):
    assert used.prune(3600).findings == 0
    used.undo("ann")
    assert used.count() == 5


def test_a_dry_run_says_the_same_and_changes_nothing(used):
    would = used.prune(-1, dry=True)
    assert len(used.jobs()) == 2
    did = used.prune(-1)
    assert (would.findings, would.jobs, would.texts, would.memo) == (did.findings, did.jobs, did.texts, did.memo)


def test_history_is_append_only_again_afterwards(used, path):
    used.prune(-1)
    raw = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="only ever appended"):
        raw.execute("DELETE FROM events")
    raw.close()


def test_the_file_shrinks(path, make):
    with open_store(path) as store:
        for number in range(200):
            store.add_finding(
                **make(f"return x * {number}  # {hash(str(number))} " + "".join(chr(97 + (i * number) % 26) for i in range(3000)))
            )
        store.delete(store.ids(), actor="ann")
        before = path.stat().st_size
        assert store.prune(-1).bytes > 0
        assert path.stat().st_size < before


def test_a_pruned_finding_that_is_found_again_is_new(used, make):
    used.prune(-1)
    row = used.add_finding(**make(f"return x * 3  # {'filler ' * 400}3"))
    assert (row.count, row.state) == (1, State.NEW)
