"""The issue draft has the shape that pytorch/pytorch asks for (DESIGN §10), and says what it may not hide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from store.records import Configuration, Outcome, Stage, State, Symptom
from store.records import Warning as Caution
from workbench.export.draft import HEADINGS, draft
from workbench.export.environment import Environment, scrubbed
from workbench.export.files import write_draft
from workbench.export.gates import Gate, Report, Subject, run_names, stored_gates, unrun

ENVIRONMENT = Environment("2.13.0+cpu", "AVX512", 2, "g++ 12.2.0", "3.11.7", "PyTorch version: 2.13.0+cpu")


def met(subject: Subject) -> Report:
    """A report in which every gate was run and is met."""
    gates = [Gate(name, met=True, detail="exit 0") for name in run_names(subject.verdict.stage)]
    return Report((*gates, *stored_gates(subject)), unrun(subject).repro, "lean", "eager: 1\nMISMATCH: return")


def test_headings_come_in_the_order_of_the_template_then_the_fence_then_the_place_for_a_person(subject: Callable[..., Subject]):
    text = draft(subject(), met(subject()), ENVIRONMENT).text
    places = [text.index(f"\n{heading}\n") for heading in HEADINGS]
    assert places == sorted(places)
    assert [line for line in text.split("\n") if line.startswith("### ")] == list(HEADINGS)
    fence = text.index("```text\nGENERATED")
    person = text.index("<!-- Comment of the person")
    assert places[-1] < fence < person
    assert text[person:].split("-->")[1].strip() == ""


def test_versions_name_capability_threads_and_compiler(subject: Callable[..., Subject]):
    text = draft(subject(), met(subject()), ENVIRONMENT).text
    versions = text[text.index("### Versions") :]
    assert "CPU capability AVX512 · 2 threads · g++ 12.2.0" in versions


def test_the_ablation_names_every_backend_and_the_bisector(subject: Callable[..., Subject]):
    text = draft(subject(), met(subject()), ENVIRONMENT).text
    ablation = text[text.index("### Ablation") : text.index("### Error logs")]
    assert "| backend `aot_eager_decomp_partition` | agree |" in ablation
    assert "| backend `inductor` | mismatch |" in ablation
    assert "| `TORCHDYNAMO_DISABLE=1` | agree |" in ablation
    assert "`lowerings any`" in ablation


def test_a_forced_draft_says_so_in_its_first_line(subject: Callable[..., Subject]):
    made = draft(subject(), unrun(subject()), ENVIRONMENT, forced=True)
    assert made.text.split("\n")[0].startswith("**FORCED DRAFT, 5 of its gates unmet")
    assert len(made.unmet) == 5
    assert not draft(subject(), met(subject()), ENVIRONMENT, forced=True).text.startswith("**FORCED")


@pytest.mark.parametrize(
    ("changes", "label"),
    [
        ({"stage": Stage.DYNAMO}, "module: dynamo"),
        ({"stage": Stage.AOT}, "module: pt2-dispatcher"),
        ({"stage": Stage.INDUCTOR}, "oncall: cpu inductor"),
        ({"configuration": Configuration(dynamic=True)}, "module: dynamic shapes"),
        ({"symptoms": (Symptom.MISSING_ERROR,)}, "module: error checking"),
        ({"symptoms": (Symptom.ALIAS,)}, "module: partial aliasing"),
        ({}, "module: correctness (silent)"),
        ({}, "topic: fuzzer"),
        ({}, "oncall: pt2"),
    ],
)
def test_proposed_labels_follow_the_verdict(subject: Callable[..., Subject], changes: dict[str, object], label: str):
    made = subject(**changes)
    assert label in draft(made, unrun(made), None).labels


def test_a_loud_failure_is_not_called_silent(subject: Callable[..., Subject]):
    made = subject(outcome=Outcome.ERROR, symptoms=(Symptom.EXCEPTION,))
    result = draft(made, unrun(made), None)
    assert "module: correctness (silent)" not in result.labels
    assert "without an error or a warning" not in result.text


@pytest.mark.parametrize("state", [State.NOISE, State.FLAKY, State.EXPECTED])
def test_noise_is_not_exported(subject: Callable[..., Subject], state: State):
    assert [g.met for g in stored_gates(subject(state=state))] == [False, True]
    assert [g.met for g in stored_gates(subject(outcome=Outcome.NOISE))] == [False, True]


def test_a_member_of_a_reported_bucket_is_not_exported(subject: Callable[..., Subject]):
    gate = stored_gates(subject(reported=(4,)))[1]
    assert not gate.met
    assert "finding 4" in gate.detail


def test_only_backends_below_the_stage_must_agree(subject: Callable[..., Subject]):
    assert [n for n in run_names(Stage.AOT) if "backend" in n] == ["exits zero with backend eager"]
    assert len([n for n in run_names(Stage.INDUCTOR) if "backend" in n]) == 3


def test_a_report_survives_the_store(subject: Callable[..., Subject]):
    report = met(subject())
    assert Report.from_json(report.to_json()) == report


def test_cells_and_fences_survive_what_stands_in_them(subject: Callable[..., Subject]):
    made = subject(
        source='import torch\n\n\ndef fn(x):\n    """a ``` fence | and a bar"""\n    return x\n\n\ndef get_inputs():\n    return [torch.ones(2)]\n'
    )
    text = draft(made, met(made), ENVIRONMENT).text
    assert "````python\n" in text


def test_warnings_are_sentences(subject: Callable[..., Subject]):
    from dataclasses import replace

    made = subject()
    made = replace(made, verdict=replace(made.verdict, warnings=(Caution.OVERFLOW,)))
    assert "Wrapping is what eager does" in draft(made, unrun(made), None).text


def test_names_of_people_and_machines_are_scrubbed():
    text = "/home/ann/venv/lib/python3.11 on box7 by ann; /Users/bob/x; /opt/python/3.11/bin/python; annex"
    clean = scrubbed(text, user="ann", host="box7", home="/root")
    assert "ann " not in clean
    assert "bob" not in clean
    assert "box7" not in clean
    assert "/opt/python" not in clean
    assert "annex" in clean


def test_what_a_person_has_written_into_a_draft_is_not_overwritten(subject: Callable[..., Subject], tmp_path: Path):
    made = draft(subject(), met(subject()), ENVIRONMENT)
    first = write_draft(made, tmp_path)
    assert [p.name for p in first] == ["finding-7.md", "finding-7.py"]
    assert write_draft(made, tmp_path) == first
    first[0].write_text("my comment")
    assert [p.name for p in write_draft(made, tmp_path)] == ["finding-7-2.md", "finding-7.py"]
    assert first[0].read_text() == "my comment"
