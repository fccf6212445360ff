"""Reductions over the real oracle and the real store, on live mismatches of torch 2.13.0 CPU; and the journal without torch."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from stale import stale

from reducers.oracle import Candidate, Judgement, Kind
from reducers.search import Budget
from reducers.tree import statements
from store import open_store
from store.records import Configuration, Difference, Outcome, Stage, State, Symptom, Verdict
from store.rows import JobKind, Reduction
from workbench.batch import Batch
from workbench.cli import group
from workbench.journal import StoreJournal
from workbench.programs import parse_program
from workbench.reduction import FLAKY, NotAFindingError, Reducer, _seen
from workbench.servers import Pool
from workbench.signature import signature

STALE = stale("b = helper(y)", "c = b + 1", "return c, a, b.sum()", block="# /// workbench\n# fullgraph = true\n# threads = 2\n# ///\n")

SCRIPT = """import torch


@torch.compile(backend="eager")
def f(x, scale):
    if torch.compiler.is_compiling():
        a = torch.where(x > 0, x, 0.0)
    else:
        a = x.clamp(min=0)
    b = a * scale
    return b, b.sum()


if __name__ == "__main__":
    data = torch.tensor([1.0, float("nan"), -1.0])
    out, total = f(data, 2)
    print(total)
"""

HIDDEN = """import torch


def main():
    def loss(c, a, b):
        return torch.addmm(c, a * float("nan"), b, alpha=0.0).sin()

    compiled = torch.compile(loss, backend="aot_eager_decomp_partition")
    print(compiled(torch.zeros(4), torch.randn(1, 4), torch.randn(4, 4)))


main()
"""
"""A live mismatch of torch 2.13.0 in a script whose compiled call is not at its top level: only its graph can be had."""

AGREES = "import torch\n\n\ndef fn(x):\n    return x + 1\n\n\ndef get_inputs():\n    return [torch.ones(2)]\n"


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "w.db") as opened:
        yield opened


def added(store, source, verdict=None):
    program = parse_program(source, "finding.py")
    known = verdict or Verdict(Outcome.MISMATCH, symptoms=(Symptom.NAN,), stage=Stage.DYNAMO, configuration=program.configuration)
    return store.add_finding(program, known, signature=signature(known, source), origin="check").id


def test_the_journal_remembers_by_bug_and_candidate(store):
    one, other = StoreJournal(store, {"bug": 1}), StoreJournal(store, {"bug": 2})
    candidate = Candidate("import torch\n", Configuration(dynamic=True))
    judgement = Judgement(Kind.SAME, "print", ("return[1]",), 2, 0.5, "why")
    one.record(candidate.key, judgement)
    one.record_texts("flatten:x", ["a", "b"])
    assert StoreJournal(store, {"bug": 1}).recall(candidate.key) == judgement
    assert one.recall_texts("flatten:x") == ["a", "b"]
    assert other.recall(candidate.key) is None
    assert one.recall(Candidate("import torch\n").key) is None


def test_an_accepted_step_is_kept_with_its_program(store):
    finding = added(store, STALE)
    journal = StoreJournal(store, {}, finding)
    journal.accepted(Candidate("import torch\n", Configuration(threads=2)), {"calls": 3})
    kept = store.progress(finding)
    assert (kept["source"], kept["config"]["threads"], kept["calls"]) == ("import torch\n", 2, 3)


@pytest.mark.torch
class TestWithTorch:
    @pytest.fixture(scope="class")
    def pool(self):
        with Pool(jobs=2) as made:
            yield made

    @pytest.mark.quality
    def test_two_workers_give_the_same_program(self, pool):
        one = Reducer(pool, budget=Budget(calls=8)).run(parse_program(STALE, "stale.py"))
        two = Reducer(pool, budget=Budget(calls=8), workers=2).run(parse_program(STALE, "stale.py"))
        assert one.program == two.program
        assert one.ended == two.ended == "budget"

    @pytest.mark.quality
    @pytest.mark.parametrize("script", [pytest.param(SCRIPT, id="called at the top level"), pytest.param(HIDDEN, id="called inside a function")])
    def test_a_script_goes_in_and_harness_form_comes_out(self, pool, script):
        reduced = Reducer(pool).run(parse_program(script, "script.py"))
        assert reduced.before.calls
        assert reduced.ended == "complete"
        assert "def fn(" in reduced.program.source
        assert "def get_inputs():" in reduced.program.source
        assert "torch.compile(" not in reduced.program.source
        assert reduced.after.stage is reduced.before.stage
        assert statements(reduced.program.source) <= 2

    def test_a_program_that_agrees_is_refused_with_one_line(self, pool):
        with pytest.raises(NotAFindingError, match="nothing to reduce: agree"):
            Reducer(pool).run(parse_program(AGREES, "agrees.py"))

    def test_a_reduced_finding_is_certified_confirmed_and_costs_no_second_reduction(self, pool, store):
        finding = added(store, STALE)
        batch = Batch(store, pool)
        first = batch.reduce(finding, actor="test")
        row = store.finding(finding)
        assert first.after.stage is Stage.DYNAMO
        assert Symptom.NAN in first.after.symptoms
        assert first.program.configuration == Configuration()
        assert first.program.source.startswith("# Element [0] of the result is nan in eager and 0 when compiled.\nimport torch\n")
        assert statements(first.program.source) <= 2
        assert first.progress.calls <= 60
        assert first.certified == (3, 3)
        assert row.verified == (3, 3)
        assert row.state is State.CONFIRMED
        assert row.reduction is Reduction.DONE
        assert row.final
        assert store.reduced(finding).source == first.program.source
        second = Batch(store, pool, certified=False).reduce(finding, actor="test")
        assert second.program.source == first.program.source
        assert second.progress.recalled > first.progress.recalled
        assert second.progress.calls <= 3  # before, after, and nothing in between

    def test_work_takes_what_is_queued_and_fails_what_cannot_be_done(self, tmp_path):
        path = tmp_path / "w.db"
        with open_store(path) as store:
            good = added(store, STALE)
            bad = added(store, AGREES)
            store.enqueue(JobKind.RECHECK, good, actor="test")
            store.enqueue(JobKind.REDUCE, bad, actor="test")
        result = CliRunner().invoke(group, ["work", "--db", str(path), "--jobs", "1", "--json"], standalone_mode=False)
        assert result.exception is None, result.exception
        done = {d["kind"]: d for d in json.loads(result.stdout)}
        assert done["recheck"]["verdict"] == "mismatch"
        assert "nothing to reduce: agree" in done["reduce"]["error"]
        with open_store(path) as store:
            assert store.finding(bad).reduction is Reduction.FAILED
            assert store.runs(good)[0].outcome == "mismatch"
            assert store.workers() == []

    def test_work_judges_what_a_person_edited_and_both_histories_tell(self, tmp_path):
        path = tmp_path / "w.db"
        with open_store(path) as store:
            source = added(store, AGREES)
            bad = store.enqueue(JobKind.EDIT, source, {"program": STALE}, actor="ann")
            good = store.enqueue(JobKind.EDIT, source, {"program": AGREES + "# an edit\n"}, actor="ann")
        result = CliRunner().invoke(group, ["work", "--db", str(path), "--jobs", "1", "--json"], standalone_mode=False)
        assert result.exception is None, result.exception
        done = {d["job"]: d for d in json.loads(result.stdout)}
        assert (done[bad]["verdict"], done[good]["verdict"]) == ("mismatch", "agree")
        with open_store(path) as store:
            assert len(store.ids()) == 2
            row = store.finding(done[bad]["became"])
            assert (row.origin, row.seed) == ("edit", f"finding:{store.finding(source).uid[:12]}")
            assert store.program(row.id).source == STALE
            assert Stage.INDUCTOR.value in store.verdict(row.id).ladder  # every backend was asked
            assert store.bucket(row.bucket).leader == row.id
            assert [e.after for e in store.events(row.id)] == [{"from": source}, {"state": "new", "count": 1}]
            told = [(e.after["verdict"], e.after.get("into"), e.why) for e in store.events(source) if e.kind == "edited"]
            assert told == [("agree", None, done[good]["reason"]), ("mismatch", row.id, done[bad]["reason"])]

    def test_minimize_writes_a_file_and_the_documented_keys(self, tmp_path):
        source, output = tmp_path / "stale.py", tmp_path / "small.py"
        source.write_text(STALE)
        arguments = ["minimize", str(source), "--db", str(tmp_path / "w.db"), "--json", "--budget", "12", "--no-certify", "-o", str(output)]
        result = CliRunner().invoke(group, [*arguments, "--jobs", "1"], standalone_mode=False)
        assert result.exception is None, result.exception
        (entry,) = json.loads(result.stdout)
        keys = (
            "finding verdict_before verdict_after source config oracle_calls compiles seconds statements_before statements_after signature"
        )
        assert set(keys.split()) <= set(entry)
        assert entry["verdict_before"] == entry["verdict_after"] == "mismatch"
        assert entry["statements_after"] < entry["statements_before"]
        assert output.read_text() == entry["source"]


class Scripted:
    """A judge that gives these verdicts in turn."""

    def __init__(self, *verdicts):
        self.verdicts = list(verdicts)

    def check(self, program, *, demand):
        return self.verdicts.pop(0)


@pytest.mark.parametrize(("shown", "votes"), [(5, (2, 5)), (3, (2, 5)), (2, (1, 5)), (1, (1, 5))])
def test_a_bug_that_comes_and_goes_is_voted_on(shown, votes):
    came = Verdict(Outcome.UNDECIDED, f"{FLAKY}: one of two runs differs from eager", compiles=2)
    bug = Verdict(
        Outcome.MISMATCH, symptoms=(Symptom.NAN,), stage=Stage.DYNAMO, differences=(Difference("return", Symptom.NAN, change="nan->finite"),)
    )
    judged = [replace(bug if i < shown else Verdict(Outcome.AGREE), compiles=1) for i in range(5)]
    before, asked = _seen(Scripted(came, *reversed(judged)), parse_program(AGREES, "flickers.py"))
    assert asked == votes
    assert before.outcome is Outcome.MISMATCH
    assert before.compiles == 7


def test_a_bug_that_never_shows_again_and_a_steady_one_need_no_votes():
    came = Verdict(Outcome.UNDECIDED, f"{FLAKY}: one of two runs differs from eager")
    program = parse_program(AGREES, "flickers.py")
    assert _seen(Scripted(came, *[Verdict(Outcome.AGREE)] * 5), program)[0].outcome is Outcome.UNDECIDED
    judge = Scripted(Verdict(Outcome.MISMATCH))
    assert _seen(judge, program)[1] == (1, 1)
    assert judge.verdicts == []


def test_minimize_without_a_target_says_what_to_do(tmp_path):
    result = CliRunner().invoke(group, ["minimize", "--db", str(tmp_path / "w.db")], standalone_mode=False)
    assert result.exception.message == "nothing to minimize"


def test_minimize_of_a_missing_finding_is_one_clear_error(tmp_path):
    with open_store(tmp_path / "w.db"):
        pass
    result = CliRunner().invoke(group, ["minimize", "7", "--db", str(tmp_path / "w.db")], standalone_mode=False)
    assert "7" in result.exception.message
    assert result.exception.exit_code == 4


def test_minimize_all_says_why_it_does_nothing(tmp_path):
    path = tmp_path / "w.db"
    with open_store(path) as store:
        empty = CliRunner().invoke(group, ["minimize", "--all", "--db", str(path)], standalone_mode=False)
        assert "no findings in this store yet" in empty.stderr
        finding = added(store, STALE)
        store.enqueue(JobKind.REDUCE, finding, actor="test")
        assert store.claim(["reduce"], "somebody else", 600) is not None
        held = CliRunner().invoke(group, ["minimize", "--all", "--db", str(path), "--jobs", "1"], standalone_mode=False)
    assert held.exception is None
    assert "1 reduced by another worker" in held.stderr
