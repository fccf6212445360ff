"""Calls to an LLM endpoint are kept whole, found again by what decides their answer, and counted."""

import sqlite3

import pytest

from store import open_store, schema
from store.errors import NotFoundError
from store.llm_calls import Asked


def asked(key="k", outcome="valid", answer="an answer", **more):
    return Asked(
        "mutate", "mutate/1", '[{"role": "user"}]', "small", "localhost:8080", key, outcome, {"temperature": 0.8}, answer=answer, **more
    )


def test_call_comes_back_as_it_was_made(store):
    campaign = store.start_campaign({})
    first = store.add_llm_call(
        asked(prompt_tokens=250, cached_tokens=240, completion_tokens=66, milliseconds=900, cost=0.5, campaign=campaign)
    )
    second = store.add_llm_call(asked("other", "eager", parent=first, seed="s", characteristic="view-then-write"))
    assert [c.id for c in store.llm_calls()] == [second, first]
    (only,) = store.llm_calls(campaign)
    assert (only.parameters, only.prompt_tokens, only.cached_tokens, only.completion_tokens, only.cost) == (
        {"temperature": 0.8},
        250,
        240,
        66,
        0.5,
    )
    assert store.llm_answer(first) == "an answer"
    assert store.llm_calls(limit=1)[0].parent == first


def test_answer_is_found_again_by_its_key_in_the_order_it_was_given(store):
    for text in ("one", "two"):
        store.add_llm_call(asked(answer=text))
    store.add_llm_call(asked(answer="one", replayed=True))
    store.add_llm_call(asked("fault", "timeout", answer=""))
    found = [store.answered_llm_call("k", n) for n in range(3)]
    assert [store.llm_answer(c.id) if c else None for c in found] == ["one", "two", None]
    assert store.answered_llm_call("fault") is None
    assert store.answered_llm_call("never") is None


def test_verdict_and_finding_are_noted_on_the_call(store, add):
    call, finding = store.add_llm_call(asked()), add()
    store.judge_llm_call(call, "mismatch", finding.id)
    assert (store.llm_calls()[0].verdict, store.llm_calls()[0].finding) == ("mismatch", finding.id)
    for ask in (lambda: store.judge_llm_call(99, "agree"), lambda: store.llm_answer(99)):
        with pytest.raises(NotFoundError, match="no LLM call 99"):
            ask()


def test_calls_are_counted_by_what_became_of_them(store):
    ids = [store.add_llm_call(asked(str(n), completion_tokens=10, cost=0.25)) for n in range(3)]
    store.add_llm_call(asked("x", "syntax"))
    store.add_llm_call(asked("y", completion_tokens=10, replayed=True))
    store.judge_llm_call(ids[0], "mismatch")
    store.judge_llm_call(ids[1], "agree")
    by = {row["value"]: row for row in store.llm_tally("outcome")}
    assert [(v, r["calls"], r["completion_tokens"], r["cost"]) for v, r in by.items()] == [("valid", 4, 30, 0.75), ("syntax", 1, 0, None)]
    (model,) = store.llm_tally("model")
    assert (model["calls"], model["valid"], model["judged"], model["mismatches"], model["replayed"]) == (5, 4, 2, 1, 1)
    assert {row["value"]: row["calls"] for row in store.llm_tally("verdict")} == {"": 3, "agree": 1, "mismatch": 1}
    with pytest.raises(ValueError, match="counted by model"):
        store.llm_tally("key; DROP TABLE llm_calls")


def test_store_from_before_llm_calls_gets_the_table_and_keeps_its_findings(path, make, monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
        with open_store(path) as store:
            store.add_finding(**make())
    raw = sqlite3.connect(path)
    assert not raw.execute("SELECT 1 FROM sqlite_master WHERE name = 'llm_calls'").fetchall()
    raw.close()
    with open_store(path) as store:
        assert store.count() == 1
        store.add_llm_call(asked())
        assert len(store.llm_calls()) == 1


def test_same_prompt_and_answer_are_kept_once(store, path):
    for n in range(20):
        store.add_llm_call(asked(str(n)))
    raw = sqlite3.connect(path)
    assert raw.execute("SELECT kind, count(*) FROM blobs GROUP BY kind ORDER BY kind").fetchall() == [("answer", 1), ("prompt", 1)]
    raw.close()


def test_pruning_keeps_what_was_asked_and_answered(store, add):
    call, finding = store.add_llm_call(asked()), add()
    store.judge_llm_call(call, "mismatch", finding.id)
    store.delete([finding.id], actor="ann")
    assert store.prune(-1.0).findings == 1
    assert store.llm_calls()[0].finding is None
    assert store.llm_answer(call) == "an answer"
