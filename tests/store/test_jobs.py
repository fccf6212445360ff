"""A job is done by one worker at a time, and by another one when that dies."""

import pytest

from store import open_store, times
from store.edits import made_from
from store.errors import NotFoundError
from store.jobs import ATTEMPTS
from store.rows import JobKind, JobState, Reduction


class Clock:
    """Time that the test moves: stands in for ``times.now``."""

    def __init__(self, monkeypatch):
        from datetime import UTC, datetime, timedelta

        self.seconds = 0.0
        start = datetime(2026, 12, 1, tzinfo=UTC)
        monkeypatch.setattr(times, "now", lambda plus=0.0: times.as_text(start + timedelta(seconds=self.seconds + plus)))


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_job_is_claimed_once_and_finished(store, add):
    row = add()
    job_id = store.enqueue("reduce", row.id, {"budget": 40}, actor="ann")
    job = store.claim(["recheck", "reduce"], "w1")
    assert (job.id, job.kind, job.finding_id, job.payload, job.state, job.worker) == (
        job_id,
        "reduce",
        row.id,
        {"budget": 40},
        "running",
        "w1",
    )
    assert store.claim(["reduce"], "w2") is None
    assert store.finish(job, {"calls": 12})
    done = store.jobs("done")[0]
    assert (done.result, done.worker, done.state) == ({"calls": 12}, "w1", JobState.DONE)


def test_equal_job_is_not_queued_twice_while_it_is_open(store, add):
    row = add()
    first = store.enqueue("recheck", row.id, {"python": "a"}, actor="ann")
    assert store.enqueue("recheck", row.id, {"python": "a"}, actor="bob") == first
    assert store.enqueue("recheck", row.id, {"python": "b"}, actor="ann") != first
    job = store.claim(["recheck"], "w")
    assert store.enqueue("recheck", row.id, {"python": "a"}, actor="ann") == first
    store.finish(job)
    assert store.enqueue("recheck", row.id, {"python": "a"}, actor="ann") != first


def test_a_finding_is_reduced_once_at_a_time_whatever_the_budget(store, add):
    row = add()
    assert store.enqueue("reduce", row.id, {"budget": 1}, actor="a") == store.enqueue("reduce", row.id, {"budget": 2}, actor="a")


def test_reduction_column_follows_the_job(store, add):
    row = add()

    def shown():
        return store.finding(row.id).reduction

    store.enqueue("reduce", row.id, actor="a")
    assert shown() is Reduction.QUEUED
    job = store.claim(["reduce"], "w")
    assert shown() is Reduction.RUNNING
    store.release(job)
    assert shown() is Reduction.QUEUED
    store.fail(store.claim(["reduce"], "w"), "no server")
    assert shown() is Reduction.FAILED
    store.enqueue("gates", row.id, actor="a")
    assert shown() is Reduction.FAILED
    store.enqueue("reduce", row.id, actor="a")
    store.finish(store.claim(["reduce"], "w"))
    assert shown() is Reduction.DONE


def test_jobs_come_by_priority_then_age_and_by_kind(store, add):
    rows = [add(f"return x * {i}") for i in range(3)]
    ids = [store.enqueue("reduce", r.id, actor="a", priority=p) for r, p in zip(rows, (0, 5, 0), strict=True)]
    gates = store.enqueue("gates", rows[0].id, actor="a")
    assert [store.claim(["reduce"], "w").id for _ in ids] == [ids[1], ids[0], ids[2]]
    assert store.claim(["reduce"], "w") is None
    assert store.claim([JobKind.GATES], "w").id == gates


def test_expired_lease_is_taken_by_the_next_and_the_late_worker_cannot_finish(store, add, clock):
    row = add()
    store.enqueue("reduce", row.id, actor="a")
    late = store.claim(["reduce"], "w1", 60)
    clock.seconds = 59
    assert store.claim(["reduce"], "w2", 60) is None
    assert store.renew(late, "w1", 60)
    clock.seconds = 118
    assert store.claim(["reduce"], "w2", 60) is None
    clock.seconds = 120
    taken = store.claim(["reduce"], "w2", 60)
    assert (taken.id, taken.worker, taken.attempts) == (late.id, "w2", 2)
    assert not store.renew(late, "w1", 60)
    assert not store.finish(late, {"from": "the dead"})
    assert not store.fail(late, "late")
    assert not store.release(late)
    assert store.finish(taken, {"from": "w2"})
    assert store.jobs()[0].result == {"from": "w2"}


def test_job_that_kills_its_workers_fails_with_a_reason(store, add, clock):
    row = add()
    store.enqueue("reduce", row.id, actor="a")
    for attempt in range(ATTEMPTS):
        assert store.claim(["reduce"], f"w{attempt}", 60).attempts == attempt + 1
        clock.seconds += 61
    assert store.claim(["reduce"], "w9", 60) is None
    job = store.jobs("failed")[0]
    assert job.reason == "3 workers took it and none finished; the last was w2"
    assert store.finding(row.id).reduction is Reduction.FAILED


def test_released_job_does_not_count_as_an_attempt(store, add):
    store.enqueue("reduce", add().id, actor="a")
    for _ in range(ATTEMPTS + 2):
        assert store.release(store.claim(["reduce"], "w"))


def test_workers_are_seen_while_they_are_alive_idle_or_not(store, add, clock):
    assert store.workers() == []
    assert store.claim(["reduce"], "idle", 30) is None
    row = add()
    job_id = store.enqueue("reduce", row.id, actor="a")
    store.claim(["reduce"], "busy", 60)
    assert {w.name: w.jobs for w in store.workers()} == {"idle": (), "busy": (job_id,)}
    clock.seconds = 31
    assert [w.name for w in store.workers()] == ["busy"]
    store.leave("busy")
    assert store.workers() == []
    assert store.claim(["reduce"], "next").id == job_id


def test_job_of_a_deleted_finding_waits_for_undo(store, add):
    row = add()
    job_id = store.enqueue("reduce", row.id, actor="a")
    store.delete([row.id], actor="ann")
    assert store.claim(["reduce"], "w") is None
    store.undo("ann")
    assert store.claim(["reduce"], "w").id == job_id


def test_job_without_a_finding_and_of_a_missing_one(store):
    assert store.enqueue("ladder", None, {"file": "x.py"}, actor="a") == store.claim(["ladder"], "w").id
    with pytest.raises(NotFoundError):
        store.enqueue("reduce", 9, actor="a")
    with pytest.raises(ValueError, match="cook"):
        store.enqueue("cook", None, actor="a")


def test_an_edited_program_waits_as_it_was_saved_and_tells_both_histories(store, add, make, path):
    source, became = add(), add("return x * 2")
    text = "import torch\n# é \N{SNOWMAN}\n"
    job_id = store.enqueue("edit", source.id, {"program": text}, actor="ann")
    assert store.enqueue("edit", source.id, {"program": text}, actor="ann") == job_id
    assert store.enqueue("edit", source.id, {"program": text + "\n"}, actor="ann") != job_id
    with open_store(path, readonly=True) as other:  # another process sees it, so a kill loses nothing
        assert {j.id: j.payload for j in other.jobs(kind="edit")}[job_id] == {"program": text}
    job = store.claim(["edit"], "w")
    assert (job.id, job.payload["program"]) == (job_id, text)
    store.tell_edit(job, "mismatch", "they differ", into=became.id)
    told, there = store.events(source.id)[0], store.events(became.id)[0]
    assert (told.kind, told.actor, told.why, told.after) == (
        "edited", "ann", "they differ", {"verdict": "mismatch", "job": job_id, "into": became.id},
    )  # fmt: skip
    assert (there.step, there.kind, there.after) == (told.step, "edited", {"from": source.id})
    assert made_from(store.events(became.id)) == source.id
    assert store.undo("ann") == ""
    store.delete([source.id], actor="bob")
    store.tell_edit(job, "agree", "nothing differs")
    assert store.events(source.id)[0].after == {"verdict": "agree", "job": job_id}
