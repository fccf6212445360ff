"""The LLM beside the rules: its share is what it earns, the rules test what they would have tested without it, its end is said once."""

import threading

import pytest
from serving import Reply, completion, error, fenced, serving, wait_until

from store import open_store
from store.records import Difference, Outcome, Program, Stage, Symptom, Verdict
from workbench.characteristics import catalogue, codes
from workbench.commands.counts import rows
from workbench.fuzz.campaign import Campaign, Settings
from workbench.fuzz.campaign import Tested as Done
from workbench.fuzz.mutants import Mutant
from workbench.fuzz.mutators import mutators
from workbench.fuzz.source import Share
from workbench.llm.budget import Budget, Purse
from workbench.llm.caller import Caller
from workbench.llm.client import Client
from workbench.llm.endpoint import Endpoint
from workbench.llm.source import Questions
from workbench.seeds import bundled
from workbench.servers import Run

PROGRAM = "import torch\n\n\ndef fn(x):\n    v = x.t()\n    v.add_({n})\n    return x * 2, v\n\n\ndef get_inputs():\n    return [torch.ones(3, 4)]\n"
ONE = {"view-then-write": catalogue()["view-then-write"]}


class NoServers:
    """Stands for the pool: every program runs in eager."""

    def environment(self):
        return {"torch": "2.13.0"}

    def run(self, request):
        return Run("ok", {"outcome": "returned"}, {})


def numbered():
    """Another valid answer every time."""
    numbers = iter(range(10_000))
    lock = threading.Lock()

    def script(_):
        with lock:
            return fenced(PROGRAM.format(n=next(numbers)))

    return script


def judging(wrong=lambda pick: False, before=lambda pick: None):
    """Judges at once: made mutants and rules' picks alike; ``wrong`` says which mismatch, ``before`` is called first."""
    seen = []

    def test(pick):
        before(pick)
        seen.append(pick)
        made = pick.made or Mutant(
            Program(f"# {pick.number}\ndef fn(x):\n    return x\n"), pick.seeds[0].name, ("r:v",), (pick.mutator.name,), (), (), "returned"
        )
        verdict = Verdict(Outcome.AGREE)
        if wrong(pick):
            verdict = Verdict(
                Outcome.MISMATCH,
                "differs",
                (Symptom.VALUE,),
                stage=Stage.AOT,
                differences=(Difference("return[0]", Symptom.VALUE),),
                torch="2.13.0",
            )
        return Done(pick, made, verdict, frozenset({f"w{pick.number}"} if pick.made else {"rule"}), 0.01)

    test.seen = seen
    return test


def campaign(path, url, *, tests=60, strategy="rules", budget=None, said=None, jobs=1, test=None, llm=True, on_source=None, **more):
    """Run one; the rules' picks in order, the campaign, its source and the store's calls."""
    test = test or judging()
    with open_store(path) as store:
        settings = Settings(seed=5, tests=tests, jobs=2, strategy=strategy)
        running = Campaign(store, NoServers(), settings, list(mutators().values()), bundled(), codes(), tester=test)
        if llm:
            where, stop = Endpoint(url, "tiny", 20.0), threading.Event()
            caller = Caller(
                store,
                where,
                Purse(budget or Budget()),
                stop=stop,
                client=None if more.get("offline") else Client(where, stop, 0.01),
                **more,
            )
            running.source = Questions(caller, NoServers(), ONE, bundled()[:6], 5, jobs, (said if said is not None else []).append)
        if on_source is not None:
            on_source.append(running.source)
        running.run()
        picks = sorted((p.number, p.mutator.name, p.seeds[0].name) for p in test.seen if p.made is None)
        return picks, running, running.source, store.llm_calls()[::-1]


def test_rules_test_the_same_with_and_without_an_llm(tmp_path):
    alone, *_ = campaign(tmp_path / "a.db", "", llm=False)
    with serving(numbered()) as server:
        there = []
        test = judging(before=lambda pick: pick.made or wait_until(lambda: bool(there[0]._ready), 10.0))
        beside, running, source, calls = campaign(tmp_path / "b.db", server.url, test=test, on_source=there)
    assert beside == alone[: len(beside)]
    assert len(alone) == running.tallies.total.tests == 60
    assert source.judged == 60 - len(beside) >= 5
    assert running.tallies.by_mutator["llm"].tests == source.judged
    assert [c.verdict for c in calls if c.verdict] == ["agree"] * source.judged
    assert all(c.campaign == running.id for c in calls)


def test_share_follows_the_yield():
    share = Share()
    assert share.of_source == 0.5
    for _ in range(40):
        share.learn(lambda earnings: 1.0, source=True)
        share.learn(lambda earnings: 0.0, source=False)
    assert share.of_source == pytest.approx(0.9)
    for _ in range(4000):
        share.learn(lambda earnings: 0.0, source=True)
        share.learn(lambda earnings: 0.5, source=False)
    assert share.of_source == pytest.approx(0.1)
    turns = []
    for _ in range(100):
        turns.append(share.is_due())
        share.planned(source=turns[-1])
    assert sum(turns) == 10


def test_mismatch_of_an_answer_is_a_finding_and_its_call_knows_it(tmp_path):
    with serving(numbered()) as server:
        _, running, _, calls = campaign(tmp_path / "s.db", server.url, tests=20, strategy="llm", test=judging(lambda p: p.number == -1))
    with open_store(tmp_path / "s.db") as store:
        (row,) = store.find()
    assert (row.characteristic, row.code, row.mutators[0].split(":")[0]) == ("view-then-write", "AM", "llm")
    assert [(c.verdict, c.finding) for c in calls if c.finding] == [("mismatch", row.id)]
    assert running.tallies.total.tests == 20


def test_llm_alone_asks_until_the_budget_is_spent_and_says_so_once(tmp_path):
    said = []
    with serving(numbered()) as server:
        picks, running, source, calls = campaign(
            tmp_path / "s.db", server.url, tests=None, strategy="llm", budget=Budget(calls=12), said=said, jobs=3
        )
    assert picks == []
    assert len(server.asked) == len(calls) == running.tallies.total.tests == 12
    assert said == [f"LLM: {source.error.message}; no more is asked ({source.error.hint})"]
    assert "12 of 12 calls" in said[0]


@pytest.mark.parametrize(
    ("budget", "most"),
    [(Budget(tokens=1000), 3), (Budget(minutes=0.0), 1), (Budget(calls=None, cost=0.0), 0)],
)
def test_budgets(tmp_path, budget, most):
    with serving(numbered()) as server:
        *_, source, calls = campaign(tmp_path / "s.db", server.url, tests=None, strategy="llm", budget=budget, said=[])
    assert len(calls) == len(server.asked) <= most
    assert source.error.kind == "budget"


@pytest.mark.parametrize(
    ("reply", "requests"),
    [
        (error(401, "no"), 1),
        (error(429, "spent", code="insufficient_quota"), 1),
        (Reply(200, "<html>", {"content-type": "text/html"}), 3),
        (error(500, "x"), 9),
    ],
)
def test_endpoint_that_fails_is_given_up_and_the_rules_go_on(tmp_path, reply, requests):
    said, there = [], []
    test = judging(before=lambda pick: wait_until(lambda: bool(there[0].error)))
    with serving([reply]) as server:
        picks, running, source, calls = campaign(tmp_path / "s.db", server.url, said=said, test=test, on_source=there)
    assert len(picks) == running.tallies.total.tests == 60
    assert len(said) == 1
    assert len(server.asked) <= requests
    assert {c.outcome for c in calls} <= {source.error.kind}


def test_single_faults_end_nothing(tmp_path):
    replies = iter(
        [
            error(400, "no"),
            fenced(PROGRAM.format(n=1)),
            Reply(200, "{"),
            completion(None),
            fenced(PROGRAM.format(n=2)),
            error(401, "now it is over"),
        ]
    )
    with serving(lambda _: next(replies)) as server:
        _, running, source, calls = campaign(tmp_path / "s.db", server.url, tests=None, strategy="llm", said=[])
    assert [c.outcome for c in calls] == ["request", "valid", "malformed", "empty", "valid", "auth"]
    assert source.error.kind == "auth"
    assert running.tallies.total.tests == 2


def test_recorded_campaign_is_replayed_offline_question_by_question(tmp_path):
    with serving(numbered()) as server:
        *_, first = campaign(tmp_path / "s.db", server.url, tests=20, strategy="llm", budget=Budget(calls=20), said=[])
    _, running, _, calls = campaign(tmp_path / "s.db", "", tests=20, strategy="llm", said=[], offline=True, model="tiny")
    again = [c for c in calls if c.campaign == running.id]
    assert len(again) >= 20
    assert all(c.replayed and c.cost is None for c in again)
    assert [(c.key, c.seed, c.outcome) for c in again[:20]] == [(c.key, c.seed, c.outcome) for c in first[:20]]


@pytest.mark.parametrize("thought", ["<think>\nperhaps\n```python\nx = 1", ""])
def test_model_that_thinks_aloud_is_not_cut_at_the_first_block(tmp_path, thought):
    good = numbered()
    with serving(lambda request: completion(thought) if "stop" in request else good(request)) as server:
        *_, calls = campaign(tmp_path / "s.db", server.url, tests=3, strategy="llm", said=[])
    assert [c.outcome for c in calls[:4]] == ["empty" if not thought else "fence", "valid", "valid", "valid"]
    assert server.asked[0]["messages"] == server.asked[1]["messages"]
    assert server.asked[0]["stop"] == ["\n```\n"]


def test_campaign_knows_which_model_wrote_its_mutants(tmp_path):
    with serving(numbered()) as server:
        _, running, *_ = campaign(tmp_path / "s.db", server.url, tests=6, strategy="llm", said=[])
    with open_store(tmp_path / "s.db") as store:
        kept = store.campaign(running.id)
    assert (kept.settings["model"], kept.settings["endpoint"]) == ("tiny", server.url.split("/")[2])
    row = rows(kept)[-1]
    assert (row["kind"], row["name"], row["tried"]) == ("model", "tiny", 6)
    _, running, *_ = campaign(tmp_path / "r.db", "", tests=2, llm=False)
    with open_store(tmp_path / "r.db") as store:
        assert "model" not in store.campaign(running.id).settings
        assert "model" not in {r["kind"] for r in rows(store.campaign(running.id))}


def test_call_on_its_way_at_the_end_is_kept_as_abandoned(tmp_path):
    good = numbered()
    replies = iter([good(0), good(0)])
    with serving(lambda _: next(replies, Reply(wait=60))) as server:
        test = judging(before=lambda pick: wait_until(lambda: len(server.asked) >= 3))
        *_, calls = campaign(tmp_path / "s.db", server.url, tests=2, strategy="llm", said=[], test=test)
    assert [c.outcome for c in calls] == ["valid", "valid", "abandoned"]
    assert calls[-1].parameters["max_tokens"] == 1024


def test_endpoint_that_dies_in_the_middle_leaves_what_it_gave(tmp_path):
    good, said, served = numbered(), [], []

    def script(request):
        served.append(request)
        return good(request) if len(served) <= 4 else Reply(hang_up=True)

    with serving(script) as server:
        _, running, source, calls = campaign(tmp_path / "s.db", server.url, tests=None, strategy="llm", said=said)
    assert [c.outcome for c in calls] == ["valid"] * 4 + ["broken"] * 3
    assert running.tallies.total.tests == 4
    assert len(said) == 1
    assert "broke the connection off" in said[0]
    assert source.line().startswith("llm 4 answers, 4 valid, 4 judged, ended: ")


def test_what_was_tried_is_told_so_that_it_is_not_tried_again(tmp_path):
    with serving(numbered()) as server:
        campaign(tmp_path / "s.db", server.url, tests=60, strategy="llm", said=[])
    told = [r["messages"][-1]["content"] for r in server.asked]
    assert "Already tried here" not in told[0]
    assert any("Already tried here" in text for text in told)
    assert len({tuple(m["content"] for m in r["messages"][:3]) for r in server.asked}) == 1  # the front is the same: prefix caches


def test_a_hanging_endpoint_keeps_nobody_waiting(tmp_path):
    with serving([Reply(wait=60)]) as server:
        picks, running, source, _ = campaign(tmp_path / "s.db", server.url, tests=40)
    assert running.tallies.total.tests == len(picks) == 40
    assert source.error is None
