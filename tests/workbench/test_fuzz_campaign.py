"""A campaign: the same tests for any number of jobs, findings kept the moment they arrive, first of a bucket queued."""

import random
import threading
import time
from collections import Counter

import pytest

from store import open_store
from store.records import Difference, Outcome, Program, Stage, Symptom, Verdict, Warning
from store.rows import JobState
from workbench.characteristics import codes
from workbench.fuzz.arrival import MOST_TRIED, arrive, provisional
from workbench.fuzz.campaign import Campaign, Settings
from workbench.fuzz.campaign import Tested as Done
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutants import Mutant, Pick
from workbench.fuzz.mutators import mutators
from workbench.fuzz.scheduler import BATCH, Scheduler, chosen, reward
from workbench.fuzz.source import Offer
from workbench.seeds import bundled

SOURCE = "def fn(x):\n    y = x + 1\n    return (y, x.any(), y)\n"


class NoServers:
    """Stands for the pool: the campaign asks it only what it runs on."""

    def environment(self):
        return {"torch": "2.13.0", "capability": "AVX2"}


def result_of(pick: Pick) -> Done:
    """A made-up result that depends on the pick alone: one in seven is a mismatch."""
    assert pick.mutator is not None
    wrong = Draw(pick.number, "result").chance(1 / 7)
    chain = (f"{pick.mutator.name}:v{pick.number % 3}",)
    program = Program(f"# {pick.number}\n{SOURCE}", name=f"seed:{pick.seeds[0].name}")
    mutant = Mutant(program, pick.seeds[0].name, chain, (pick.mutator.name,), pick.mutator.characteristics, (), "returned")
    difference = Difference("return[0]", Symptom.VALUE, "float32", (3,), 1)
    verdict = (
        Verdict(Outcome.MISMATCH, "differs", (Symptom.VALUE,), stage=Stage.INDUCTOR, differences=(difference,))
        if wrong
        else Verdict(Outcome.AGREE)
    )
    return Done(pick, mutant, verdict, frozenset({f"w{pick.number % 5}"}), 0.01)


def run(path, jobs, tests=5 * BATCH, **hooks):
    """The picks of a campaign in the order of their numbers, and its counters."""
    seen, lock = [], threading.Lock()

    def slowly(pick):
        time.sleep(random.random() * 0.004)  # so that results arrive in another order every time
        with lock:
            seen.append((pick.number, pick.mutator.name, pick.seeds[0].name, tuple(m.name for m in pick.extra)))
        return result_of(pick)

    with open_store(path) as store:
        campaign = Campaign(
            store,
            NoServers(),
            Settings(seed=3, tests=tests, jobs=jobs),
            list(mutators().values()),
            bundled(),
            codes(),
            tester=slowly,
            **hooks,
        )
        try:
            campaign.run()
        finally:
            state = store.campaign(campaign.id).state
            count = store.count()
        return sorted(seen), campaign, state, count


def test_any_number_of_jobs_gives_the_same_tests(tmp_path):
    one = run(tmp_path / "one.db", 1)
    many = run(tmp_path / "many.db", 7)
    assert one[0] == many[0]
    assert one[0] != run(tmp_path / "other.db", 1, tests=BATCH)[0]
    assert one[1].tallies.total.mismatches == many[1].tallies.total.mismatches > 3


def test_counters_add_up_and_are_in_the_store(tmp_path):
    _, campaign, state, count = run(tmp_path / "s.db", 2)
    total = campaign.tallies.total
    assert state == "finished"
    assert total.tests == total.valid == 5 * BATCH
    assert count == total.mismatches
    by = campaign.tallies.to_json(codes())["by_characteristic"]
    assert sum(c["tests"] for c in by.values()) == sum(
        len(mutators()[n].characteristics) * c.tests for n, c in campaign.tallies.by_mutator.items()
    )
    assert all(c["code"] for c in by.values())


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    found = []

    def stop(arrived):
        found.append(arrived.row.id)
        if len(found) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "s.db", 3, on_finding=stop)
    with open_store(tmp_path / "s.db") as store:
        assert [r.id for r in store.find(order="id")] == found
        assert store.campaigns()[0].state == "interrupted"
        assert store.campaigns()[0].counters["tests"] > 0


def test_a_killed_driver_has_lost_nothing_that_it_was_told(tmp_path):
    """What on_finding has heard of is in the file already, whatever happens to this process next."""
    seen = []

    def look(arrived):
        with open_store(tmp_path / "s.db", readonly=True) as other:
            seen.append(other.finding(arrived.row.id).id)

    run(tmp_path / "s.db", 2, tests=40, on_finding=look)
    assert seen


def test_unmutated_seeds_are_judged_once_each(tmp_path):
    judged = []

    def agrees(pick):
        judged.append(pick.seeds[0].name)
        return Done(pick, Mutant(pick.seeds[0].program, pick.seeds[0].name, (), (), (), (), "returned"), Verdict(Outcome.AGREE), frozenset(), 0.01)

    with open_store(tmp_path / "s.db") as store:
        settings = Settings(tests=10_000, jobs=3, strategy="unmutated")
        campaign = Campaign(store, NoServers(), settings, list(mutators().values()), bundled(), codes(), tester=agrees)
        campaign.run()
    assert sorted(judged) == sorted(seed.name for seed in bundled())
    assert campaign.tallies.total.tests == len(bundled())


def test_time_ends_a_campaign(tmp_path):
    started = time.monotonic()
    with open_store(tmp_path / "s.db") as store:
        settings = Settings(seconds=0.3, jobs=2)
        Campaign(store, NoServers(), settings, list(mutators().values()), bundled(), codes(), tester=result_of).run()
    assert time.monotonic() - started < 5


def mismatch(observed=(), chain=("rule:one",), path="return[0]", warnings=()):
    mutant = Mutant(
        Program(SOURCE + f"# {observed} {chain} {path}"), "seed", chain, ("rule",), ("small-integer-borders",), observed, "returned"
    )
    verdict = Verdict(
        Outcome.MISMATCH,
        "differs",
        (Symptom.VALUE,),
        warnings,
        stage=Stage.INDUCTOR,
        differences=(Difference(path, Symptom.VALUE),),
        torch="2.13.0",
    )
    return mutant, verdict


def test_a_difference_in_what_a_mutator_added_is_named_by_its_ops():
    told = provisional(*mismatch((("rule:one", ""), ("rule:one", "x.any()"), ("rule:one", "")), path="return[1]"))
    assert told.skeleton == ("any",)
    other = provisional(*mismatch((("rule:one", ""), ("rule:one", "x.any()"), ("rule:one", "")), path="return[0]"))
    assert other.skeleton == ("rule:one",)


def test_a_difference_elsewhere_is_named_by_the_variant():
    assert provisional(*mismatch(path="inputs[0]")).skeleton == ("rule:one",)


def test_the_first_of_a_bucket_is_queued_and_repeats_are_counted(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        campaign = store.start_campaign({})
        first = arrive(store, *mismatch(), code="MD", campaign=campaign, reduce=True)
        second = arrive(store, *mismatch(path="return[1]"), code="MD", campaign=campaign, reduce=True)
        third = arrive(store, *mismatch(chain=("rule:two",)), code="MD", campaign=campaign, reduce=True)
        assert (first.first, second.first, third.first) == (True, False, True)
        assert first.row.bucket == second.row.bucket != third.row.bucket
        assert sorted(j.finding_id for j in store.jobs(JobState.QUEUED)) == [first.row.id, third.row.id]
        assert first.row.code == "MD"


def test_doubtful_findings_wait_behind_the_others(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        campaign = store.start_campaign({})
        arrive(store, *mismatch(warnings=(Warning.EAGER_SUSPECT,)), code="MD", campaign=campaign, reduce=True)
        clear = arrive(store, *mismatch(chain=("rule:two",)), code="MD", campaign=campaign, reduce=True)
        job = store.claim(["reduce"], "w")
        assert job is not None
        assert job.finding_id == clear.row.id


def test_mutators_that_have_fewer_findings_queued_go_first(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        campaign = store.start_campaign({})
        made = [(("flip:a",), 0), (("flip:b",), 1), (("roll:a",), 0), (("flip:c",), 2)]
        rows = [arrive(store, *mismatch(chain=chain), code="MD", campaign=campaign, reduce=True, tried=n).row.id for chain, n in made]
        claimed = [store.claim(["reduce"], "w").finding_id for _ in made]
        assert claimed == [rows[0], rows[2], rows[1], rows[3]]


def test_a_campaign_counts_what_each_mutator_has_queued(tmp_path):
    found = []
    run(tmp_path / "s.db", 2, on_finding=found.append)
    rows = {arrived.row.id: arrived.row for arrived in found if arrived.first}
    ranks, seen = [], Counter()
    with open_store(tmp_path / "s.db") as store:
        while (job := store.claim(["reduce"], "w")) is not None:
            mutator = rows[job.finding_id].mutators[0].split(":")[0]
            ranks.append(min(seen[mutator], MOST_TRIED))
            seen[mutator] += 1
    assert len(ranks) == len(rows)
    assert max(ranks) > 0
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(("jobs", "reducing", "most"), [(4, 0, 4), (4, 1, 3), (2, 1, 1), (1, 1, 1), (2, 5, 1)])
def test_a_reduction_under_way_has_a_server_to_itself(tmp_path, jobs, reducing, most):
    running, peak, lock = 0, 0, threading.Lock()

    def slowly(pick):
        nonlocal running, peak
        with lock:
            running += 1
            peak = max(peak, running)
        time.sleep(0.004)
        with lock:
            running -= 1
        return result_of(pick)

    with open_store(tmp_path / "s.db") as store:
        settings = Settings(seed=3, tests=2 * BATCH, jobs=jobs)
        rules = list(mutators().values())
        Campaign(store, NoServers(), settings, rules, bundled(), codes(), tester=slowly, reducing=lambda: reducing).run()
    assert peak == most


def test_a_known_bucket_earns_nothing_and_every_mutator_keeps_its_turn():
    assert reward("mismatch", valid=True, new_bucket=True, known=False, new_behaviour=True) > reward(
        "agree", valid=True, new_bucket=False, known=False, new_behaviour=True
    )
    assert reward("mismatch", valid=True, new_bucket=False, known=True, new_behaviour=True) == 0
    rules = list(mutators().values())
    scheduler = Scheduler(0, rules, bundled())
    picked = set()
    for batch in range(16):
        picks = scheduler.plan(batch)
        picked |= {p.mutator.name for p in picks}
        scheduler.learn([((p.mutator.name,), p.seeds[0].name, 1.0 if p.mutator.name == rules[0].name else 0.0) for p in picks])
    assert picked == {m.name for m in rules}


def test_focus_and_only_choose_mutators():
    found = chosen(mutators(), codes(), ["MD"], [])
    assert found
    assert {codes()[c] for m in found for c in m.characteristics} == {"MD"}
    assert [m.name for m in chosen(mutators(), codes(), [], ["promotion"])] == ["promotion"]


def test_a_campaign_that_is_asked_to_stop_from_another_process_ends_soon_and_keeps_what_is_finished(tmp_path):
    path = tmp_path / "stop.db"

    def ask(pick):
        if pick.number == 5:
            with open_store(path) as other:
                assert other.stop_campaign(1)
        time.sleep(0.02)
        return result_of(pick)

    with open_store(path) as store:
        campaign = Campaign(store, NoServers(), Settings(seed=3), list(mutators().values()), bundled(), codes(), tester=ask)
        campaign.run()
        row = store.campaign(1)
        assert (row.state, campaign.stopped) == ("interrupted", True)
        assert row.counters["tests"] >= 5


class Slow:
    """A source that has a mutant every 50 ms, ten in all."""

    def __init__(self):
        self.made, self.began = 0, time.monotonic()

    def start(self, campaign): ...
    def stop(self): ...
    def told(self, number, verdict, earned, finding): ...

    def described(self):
        return {}

    def line(self):
        return ""

    def is_over(self):
        return self.made == 10

    def wait(self, seconds):
        time.sleep(0.01)

    def take(self):
        if self.is_over() or time.monotonic() - self.began < 0.05 * (self.made + 1):
            return None
        self.made += 1
        return Offer(self.made, Mutant(Program(f"# {self.made}\n{SOURCE}"), "llm", ("llm:v",), ("llm",), (), (), "returned"))


@pytest.mark.parametrize(("tests", "judged"), [(None, 15), (12, 12)])
def test_what_a_source_still_makes_is_judged_when_the_seeds_are_through(tmp_path, tests, judged):
    def agrees(pick):
        made = pick.made or Mutant(pick.seeds[0].program, pick.seeds[0].name, (), (), (), (), "returned")
        return Done(pick, made, Verdict(Outcome.AGREE), frozenset(), 0.001)

    with open_store(tmp_path / "s.db") as store:
        settings = Settings(jobs=2, strategy="unmutated", tests=tests)
        campaign = Campaign(store, NoServers(), settings, [], bundled()[:5], codes(), tester=agrees, source=Slow())
        campaign.run()
    assert campaign.tallies.total.tests == judged
