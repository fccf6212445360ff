"""What happens when a mismatch arrives: a provisional signature, a bucket, a row in the store, and a queued reduction for the first of a bucket."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from store.records import Difference, Signature, Symptom, Verdict, Warning
from store.rows import FindingRow
from store.store import Store
from store.syntax import parse
from workbench.fuzz.mutants import Mutant
from workbench.oracle.judge import as_found
from workbench.signature import grouped, signature, skeleton

ACTOR = "fuzz"
DOUBTFUL = frozenset(
    {Warning.EAGER_SUSPECT, Warning.DUPLICATE_INDICES, Warning.OUT_OF_RANGE_CAST, Warning.ASKS_IF_COMPILED, Warning.BEYOND_STORAGE}
)
"""Warnings that put a bucket's reduction behind the others."""
PLAIN = frozenset({Symptom.VALUE, Symptom.NAN, Symptom.MUTATION, Symptom.GRADIENT, Symptom.DTYPE, Symptom.SHAPE})
"""Symptoms that need no explanation; of findings that are alike otherwise, their reductions go first."""

MOST_TRIED = 9
"""From here on one more finding of the same mutator makes no difference."""

MOST_MARKS = 3
"""Differences that a provisional signature names; a mutant in which everything differs needs no longer one."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A stored finding. ``first``: it opened its bucket."""

    row: FindingRow
    signature: Signature
    first: bool


def provisional(mutant: Mutant, verdict: Verdict) -> Signature:
    """The signature before reduction: of what the mutator put in where the differing outputs are known to be its own, else of the variant.

    The seed around it is filler and must not tell mutants of one rule apart; the whole program decides only for unmutated ones.
    """
    if not mutant.chain:
        return signature(verdict, mutant.program.source, final=False)
    return Signature(verdict.stage, verdict.guilty, grouped(verdict.symptoms), _marks(mutant, verdict.differences), final=False)


def _marks(mutant: Mutant, differences: tuple[Difference, ...]) -> tuple[str, ...]:
    """For each difference: the ops of the expression that a mutator put there, or that mutator's variant where it wrote into a name."""
    total = _returned(mutant)
    found: set[str] = set()
    for difference in differences:
        match = re.search(r"return\[(\d+)\]", difference.path)
        at = int(match[1]) - (total - len(mutant.observed)) if match and total else -1
        if difference.excused is not None or not 0 <= at < len(mutant.observed):
            continue
        link, text = mutant.observed[at]
        ops = {op for op in skeleton(f"def fn():\n    return {text}") if not op.startswith(("+", "in:"))} if text else set()
        found.add(" ".join(sorted(ops)) or link)
    return tuple(sorted(found)[:MOST_MARKS]) or mutant.chain


def _returned(mutant: Mutant) -> int:
    """How many elements the entry function's last return hands out; 0 when it is no tuple or a ``drive`` stands between."""
    tree = parse(mutant.program.source)
    if any(isinstance(s, ast.FunctionDef) and s.name == "drive" for s in tree.body):
        return 0
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in ("fn", "forward") and node.body:
            last = node.body[-1]
            return len(last.value.elts) if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) else 0
    return 0


def arrive(store: Store, mutant: Mutant, verdict: Verdict, *, code: str, campaign: int, reduce: bool, tried: int = 0) -> Arrived:
    """Keep a mismatch; the first of its bucket is queued for reduction, doubtful ones last (see ``priority``)."""
    told = provisional(mutant, verdict)
    with store.together():
        row = store.add_finding(
            as_found(mutant.program, verdict),
            verdict,
            signature=told,
            origin=ACTOR,
            seed_name=mutant.seed,
            characteristic=mutant.characteristics[0] if mutant.characteristics else None,
            code=code,
            mutators=mutant.chain,
            campaign=campaign,
        )
        first = row.count == 1 and row.bucket is not None and store.bucket(row.bucket).members == 1
        if first and reduce:
            store.enqueue("reduce", row.id, actor=ACTOR, priority=priority(verdict, tried))
    return Arrived(row, told, first)


def priority(verdict: Verdict, tried: int = 0) -> int:
    """Which reductions go first: doubtful findings (0) last; before them those of a mutator that had fewer others queued in this campaign,
    ``tried``, reduced or not, since the next one of the same is likely to be the same bug; then those whose symptoms need no explanation.
    """
    if DOUBTFUL & set(verdict.warnings):
        return 0
    return 2 * (MOST_TRIED - min(tried, MOST_TRIED)) + (2 if PLAIN & set(verdict.symptoms) else 1)
