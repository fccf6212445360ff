"""Campaigns count, runs are kept, the memo forgets."""

import sqlite3

import pytest

from store import memo
from store.errors import NotFoundError
from store.records import Configuration


def test_campaign_from_start_to_end(store, make):
    campaign = store.start_campaign({"seed": 7, "minutes": 2})
    store.update_campaign(campaign, {"tests": 5})
    row = store.add_finding(**make(), campaign=campaign)
    assert row.campaign == campaign
    running = store.campaign(campaign)
    assert (running.state, running.settings, running.counters, running.finished) == (
        "running",
        {"seed": 7, "minutes": 2},
        {"tests": 5},
        None,
    )
    store.finish_campaign(campaign, {"tests": 6}, state="interrupted")
    second = store.start_campaign({})
    store.finish_campaign(second)
    assert [(c.id, c.state, c.counters) for c in store.campaigns()] == [(second, "finished", {}), (campaign, "interrupted", {"tests": 6})]
    assert store.campaigns(limit=1)[0].finished is not None


def test_missing_campaign(store):
    for ask in (lambda: store.campaign(3), lambda: store.update_campaign(3, {}), lambda: store.finish_campaign(3)):
        with pytest.raises(NotFoundError, match="no campaign 3"):
            ask()
    with pytest.raises(ValueError, match="finished or interrupted"):
        store.finish_campaign(store.start_campaign({}), state="running")


def test_finding_of_a_campaign_that_does_not_exist_is_a_mistake_of_the_caller(store, make):
    with pytest.raises(sqlite3.IntegrityError):
        store.add_finding(**make(), campaign=5)
    assert store.count() == 0


def test_runs_keep_whole_verdicts_newest_first(store, add, make):
    row = add()
    grid = make(configuration=Configuration(dynamic=True, mode="max-autotune"))["verdict"]
    first, second = store.add_run(row.id, grid, purpose="grid"), store.add_run(row.id, make()["verdict"], purpose="recheck")
    assert [r.id for r in store.runs(row.id)] == [second, first]
    only = store.runs(row.id, "grid")
    assert [(r.id, r.outcome, r.configuration) for r in only] == [(first, "mismatch", {"mode": "max-autotune", "dynamic": True})]
    assert store.run_verdict(first) == grid
    for ask in (lambda: store.run_verdict(99), lambda: store.add_run(99, grid, purpose="grid")):
        with pytest.raises(NotFoundError):
            ask()


def test_memo_remembers_and_replaces(store):
    assert store.memo_get("k") is None
    store.memo_put("k", {"verdict": "agree"})
    store.memo_put("k", {"verdict": "noise", "list": [1, None]})
    assert store.memo_get("k") == {"verdict": "noise", "list": [1, None]}


def test_memo_forgets_the_oldest_beyond_its_limit(store, monkeypatch):
    monkeypatch.setattr(memo, "LIMIT", 10)
    for number in range(25):
        store.memo_put(f"k{number}", {"n": number})
    assert [n for n in range(25) if store.memo_get(f"k{n}")] == list(range(15, 25))


def test_data_version_changes_when_somebody_else_has_written_and_only_then(path, store, make):
    from store import open_store

    with open_store(path, readonly=True) as watcher:
        before = watcher.data_version()
        watcher.count()
        assert watcher.data_version() == before
        store.add_finding(**make())
        assert watcher.data_version() != before
        assert watcher.count() == 1


def test_a_running_campaign_is_asked_to_stop_and_a_silent_one_is_ended(store, monkeypatch):
    running, ended, silent = store.start_campaign({}), store.start_campaign({}), store.start_campaign({})
    store.finish_campaign(ended)
    assert store.stop_campaign(running)
    assert store.campaign(running).state == "stopping"
    assert not store.stop_campaign(ended)
    monkeypatch.setattr("store.campaigns.SILENT_SECONDS", -5.0)
    assert store.stop_campaign(silent)
    assert store.campaign(silent).state == "interrupted"
    store.finish_campaign(running, {"tests": 3}, state="interrupted")
    assert store.campaign(running).counters == {"tests": 3}
