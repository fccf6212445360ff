"""Characteristics and rules drafted from an issue's text: parsed, tried on seeds, kept as files, used by fuzz once a person has accepted them."""

import json

import pytest
from click.testing import CliRunner
from serving import completion, error, serving

from store import open_store
from workbench import characteristics
from workbench.cli import group
from workbench.errors import WorkbenchError
from workbench.fuzz.mutators import learned, mutators
from workbench.llm.caller import Caller
from workbench.llm.client import Client
from workbench.llm.endpoint import Endpoint
from workbench.llm.learn import Learner, Trial, as_toml, rule_as_toml
from workbench.seeds import bundled
from workbench.servers import Run

ISSUE = "# flip then write is wrong, pytorch/pytorch#163929\nx.flip(0) and x.add_(1) ... see https://github.com/pytorch/pytorch/issues/180001 and #42"
PROGRAM = "import torch\n\n\ndef fn(x):\n    return x * 2{more}\n\n\ndef get_inputs():\n    return [torch.ones(4)]\n"
DESCRIBED = f"""Sure, here it is:

**id**: Flip Then Write
code: AM (mutation of aliased tensors)
title: A flip, then a "write"
do: Flip a tensor, write into it, read the flipped one.
why: The copy is fused with the write.
stages: inductor, aot, nonsense
symptoms: value and mutation

before:
```python
{PROGRAM.format(more="")}```
after:
```python
{PROGRAM.format(more=", x.flip(0), x.add_(1)")}```
"""
RULE = "```python\nflipped = {v}.flatten().flip(0)\nd = {'a': flipped}\nflipped.add_(1)\n{r} = (flipped, d['a'] * 2)\n```"


class Eager:
    """Stands for the pool: a trace with one small float tensor for every seed; ``fails``: texts that raise."""

    def __init__(self, fails=lambda source: False):
        self.fails = fails

    def run(self, request):
        if self.fails(request.source):
            return Run("ok", {"outcome": "raised", "exception": {"class": "RuntimeError", "message": "no such shape"}}, {})
        names = ("x", "image", "a", "t", "q", "rows", "values", "data", "h", "input")
        values = [
            {
                "name": n,
                "function": "fn",
                "line": 0,
                "shape": [4],
                "dtype": "float32",
                "stride": [1],
                "storage": 1,
                "numel": 4,
                "position": 0,
            }
            for n in names
        ]
        return Run("ok", {"outcome": "returned", "values": values, "lines": {}, "inputs": []}, {})


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path, monkeypatch):
    """Nothing that the person who runs the tests has accepted, and nothing left behind."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def draft(tmp_path, replies, fails=lambda source: False):
    with serving([r if hasattr(r, "status") else completion(r) for r in replies]) as server, open_store(tmp_path / "s.db") as store:
        where = Endpoint(server.url, "tiny")
        made = Learner(Caller(store, where, client=Client(where)), Eager(fails), bundled()).draft(ISSUE)
        return made, [(c.purpose, c.outcome) for c in store.llm_calls()[::-1]], server


def test_issue_becomes_a_characteristic_and_a_rule(tmp_path):
    made, calls, server = draft(tmp_path, [DESCRIBED, RULE])
    c = made.characteristic
    assert (c.id, c.code, c.title, c.stages, c.symptoms) == (
        "flip-then-write",
        "AM",
        'A flip, then a "write"',
        ("inductor", "aot"),
        ("value", "mutation"),
    )
    assert c.issues == (163929, 180001)
    assert "x.add_(1)" in c.after
    assert made.rule[0] == "flip_then_write"
    assert made.trial.good
    assert made.trial.ran == made.trial.fitted >= 3
    assert calls == [("learn", "valid"), ("learn", "valid")]
    assert server.asked[1]["messages"][1]["content"] == DESCRIBED
    assert characteristics.parse(c.id, as_toml(c)) == c


def test_what_is_wrong_is_told_and_asked_for_again_at_most_twice(tmp_path):
    replies = [
        "I am not sure.",
        DESCRIBED.replace("code: AM", "code: ZZ").replace("(mutation", "(x"),
        DESCRIBED,
        "no rule",
        "```python\n{r} = 1\n```",
        RULE,
    ]
    made, calls, server = draft(tmp_path, replies)
    assert [o for _, o in calls] == ["contract", "contract", "valid", "fence", "contract", "valid"]
    assert "no line id" in server.asked[1]["messages"][-1]["content"]
    assert made.rule is not None


def test_text_that_teaches_nothing(tmp_path):
    made, calls, _ = draft(tmp_path, ["never"])
    assert (made.outcome, made.characteristic) == ("contract", None)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (DESCRIBED.replace(", x.flip(0), x.add_(1)", ""), "duplicate"),
        (DESCRIBED.replace("import torch", "import os", 1), "imports"),
        (DESCRIBED.split("after:")[0], "fence"),
        (DESCRIBED.replace("stages: inductor, aot, nonsense", "stages: everywhere"), "contract"),
        (DESCRIBED.replace("def get_inputs", "def other"), "contract"),
    ],
)
def test_descriptions_that_are_stopped(tmp_path, answer, outcome):
    made, *_ = draft(tmp_path, [answer])
    assert made.outcome == outcome
    assert made.problem


def test_programs_that_eager_does_not_run_are_stopped(tmp_path):
    made, *_ = draft(tmp_path, [DESCRIBED], fails=lambda source: "add_" in source)
    assert made.outcome == "eager"
    assert "after: plain PyTorch does not run it" in made.problem


@pytest.mark.parametrize(
    "snippet",
    ["{r} = open('/etc/passwd')", "import os\n{r} = {v}", "{r} = {v}\n" * 13, "{r} = {v} +", "{r} = __import__('os')", "x = {v}"],
)
def test_rules_that_are_stopped_leave_the_characteristic(tmp_path, snippet):
    made, calls, _ = draft(tmp_path, [DESCRIBED, f"```python\n{snippet}\n```"])
    assert made.characteristic is not None
    assert made.rule is None
    assert len(calls) == 1 + 3


def test_rule_whose_mutants_eager_does_not_run_is_not_offered(tmp_path):
    made, _, server = draft(tmp_path, [DESCRIBED, RULE], fails=lambda source: "flipped" in source)
    assert made.rule is None
    assert made.trial.ran == 0
    assert "no such shape" in server.asked[-1]["messages"][-1]["content"]
    assert not Trial(8, 8, 7, 8).good
    assert not Trial(8, 8, 8, 8, repeatable=False).good
    assert not Trial(8, 2, 2, 2).good


def test_odd_texts_survive_the_file_form():
    c = characteristics.named("view-then-write")
    from dataclasses import replace

    odd = replace(c, title='a "b" \\ \x7f é', do="it's '''odd'''", before=c.before + "# '''\n", after=c.after + "# \\n")
    again = characteristics.parse(c.id, as_toml(odd))
    assert (again.title, again.do, again.before, again.after) == (odd.title, odd.do, odd.before, odd.after)


def test_accepted_draft_is_in_the_catalogue_and_its_rule_mutates_without_an_llm(tmp_path):
    made, *_ = draft(tmp_path, [DESCRIBED, RULE])
    folder = tmp_path / "drafts"
    folder.mkdir()
    (folder / "flip-then-write.toml").write_text(as_toml(made.characteristic))
    (folder / "flip-then-write.rule.toml").write_text(rule_as_toml(made.rule))
    before = len(mutators())
    assert "flip-then-write" not in characteristics.catalogue()
    done = CliRunner().invoke(group, ["characteristics", "accept", str(folder / "flip-then-write.toml")], standalone_mode=False)
    assert "with a rule mutator" in done.output
    assert characteristics.named("flip-then-write").code == "AM"
    assert len(mutators()) == before + 1
    rule = mutators()["learned_flip_then_write"]
    assert rule.characteristics == ("flip-then-write",)
    assert rule.family == "learned"
    listed = json.loads(CliRunner().invoke(group, ["characteristics", "list", "--json"], standalone_mode=False).output)
    assert next(c for c in listed if c["id"] == "flip-then-write")["mutators"] == ["learned_flip_then_write"]


def test_draft_that_is_none_is_refused_and_nothing_is_taken(tmp_path):
    good = tmp_path / "fine.toml"
    good.write_text(as_toml(characteristics.named("view-then-write")))
    for name, text, told in (
        ("bad.toml", "code = 'XX'", "missing"),
        ("view-then-write.toml", good.read_text(), "already"),
        ("gone.toml", None, "No such file"),
        ("bad.rule.toml", "x", "missing"),
    ):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        with pytest.raises(WorkbenchError, match=told):
            CliRunner().invoke(group, ["characteristics", "accept", str(good), str(path)], standalone_mode=False, catch_exceptions=False)
    assert not characteristics.learned_folder().exists()


def test_accepted_file_that_somebody_broke_is_named(tmp_path):
    folder = characteristics.learned_folder()
    folder.mkdir(parents=True)
    (folder / "own.rule.toml").write_text("[[item]]\nname = 'a'\ncode = '{r} = ('\nseen = '{r}'\n")
    with pytest.raises(WorkbenchError, match=r"own\.rule\.toml: no rule"):
        learned.learned()


def test_two_texts_with_one_name_give_two_drafts(tmp_path):
    with serving([completion(a) for a in (DESCRIBED, RULE, DESCRIBED, RULE)]) as server, open_store(tmp_path / "s.db") as store:
        where = Endpoint(server.url, "tiny")
        learner = Learner(Caller(store, where, client=Client(where)), Eager(), bundled())
        first, second = learner.draft(ISSUE), learner.draft(ISSUE + " again")
    assert (first.characteristic.id, second.characteristic.id) == ("flip-then-write", "flip-then-write-2")
    assert second.rule[0] == "flip_then_write_2"


def test_endpoint_that_fails_at_the_second_text_leaves_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.servers.Pool.run", lambda self, request: Eager().run(request))
    texts = [tmp_path / "one.md", tmp_path / "two.md"]
    for text in texts:
        text.write_text(f"{ISSUE} {text.name}")
    with serving([completion(DESCRIBED), completion(RULE), error(401, "no")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments = ["--db", str(tmp_path / "s.db"), "characteristics", "learn", *map(str, texts), "-o", str(tmp_path / "out"), "--json"]
        done = CliRunner().invoke(group, arguments, standalone_mode=False)
    assert done.exception.kind == "auth"
    assert [d["characteristic"]["id"] for d in json.loads(done.stdout)] == ["flip-then-write"]
    assert (tmp_path / "out" / "flip-then-write.toml").exists()


@pytest.mark.torch
def test_learn_from_outside_writes_drafts_that_were_tried_on_torch(tmp_path, monkeypatch):
    issue = tmp_path / "issue.md"
    issue.write_text(ISSUE)
    with serving([completion(DESCRIBED), completion(RULE)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments = ["--db", str(tmp_path / "s.db"), "characteristics", "learn", str(issue), "-o", str(tmp_path / "out"), "--json"]
        done = CliRunner().invoke(group, arguments, standalone_mode=False, catch_exceptions=False)
    (told,) = json.loads(done.stdout)
    assert [p.rpartition("/")[2] for p in told["files"]] == ["flip-then-write.toml", "flip-then-write.rule.toml"]
    assert told["trial"]["ran"] == told["trial"]["fitted"] >= 3
    learned.read(tmp_path / "out" / "flip-then-write.rule.toml")
