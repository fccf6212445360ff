"""A researcher gets a campaign's counters as rows: what was tried, what came of it, by characteristic and by mutator."""

from __future__ import annotations

import csv
import io

from store.rows import Campaign
from workbench.commands.counts import COLUMNS, as_csv, lines, rows
from workbench.fuzz.tallies import Tallies


def campaign() -> Campaign:
    tallies = Tallies(elapsed=10.0)
    for outcome, mutator, bucket in [("agree", "flip", False), ("mismatch", "shift", True), ("mismatch", "shift", False), ("noise", "flip", False)]:
        tallies.add(outcome, characteristics=["overlap"], mutators=[mutator], valid=True, seconds=1.5, new_bucket=bucket, at=4.0)
    tallies.add("invalid", characteristics=["edge, with a comma"], mutators=["flip"], valid=False, seconds=0.5, new_bucket=False, at=5.0)
    counters = tallies.to_json({"overlap": "AM"})
    return Campaign(7, "finished", "2026-01-01", "2026-01-01", None, {"strategy": "rules"}, counters)


def test_the_whole_campaign_comes_first_then_what_found_most():
    found = rows(campaign())
    assert [(r["kind"], r["name"]) for r in found] == [
        ("campaign", "rules"),
        ("characteristic", "overlap"),
        ("characteristic", "edge, with a comma"),
        ("mutator", "shift"),
        ("mutator", "flip"),
    ]
    assert {k: found[0][k] for k in ("tried", "valid", "mismatches", "noise", "buckets", "seconds", "first_seen")} == {
        "tried": 5,
        "valid": 4,
        "mismatches": 2,
        "noise": 1,
        "buckets": 1,
        "seconds": 6.5,
        "first_seen": 4.0,
    }
    assert found[1]["code"] == "AM"
    assert (found[4]["tried"], found[4]["valid"], found[4]["first_seen"]) == (3, 2, None)


def test_model_that_wrote_mutants_has_a_row_of_its_own():
    tallies = Tallies(elapsed=1.0)
    tallies.add("mismatch", characteristics=["overlap"], mutators=["llm"], valid=True, seconds=1.0, new_bucket=True, at=0.5)
    tallies.add("agree", characteristics=["overlap"], mutators=["flip"], valid=True, seconds=1.0, new_bucket=False, at=0.6)
    told = rows(Campaign(7, "finished", "a", "a", None, {"strategy": "rules", "model": "tiny"}, tallies.to_json({})))[-1]
    assert (told["kind"], told["name"], told["tried"], told["mismatches"]) == ("model", "tiny", 1, 1)


def test_csv_reads_back_as_the_same_rows():
    read = list(csv.DictReader(io.StringIO(as_csv(campaign()))))
    assert tuple(read[0]) == COLUMNS
    assert [[r[c] for c in COLUMNS[1:]] for r in read] == list(lines(campaign()))
    assert all(r["campaign"] == "7" for r in read)
