"""From a pick to a mutant: mutators applied one after the other, each on a fresh eager trace of what the last one made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from store.records import JSON, Program
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import Mutator
from workbench.fuzz.subject import Subject
from workbench.fuzz.tracing import Facts, Runner, facts_of
from workbench.seeds import Seed

TRIES = 4
"""Seeds tried for a mutator that finds nothing to work on, before the pick is given up."""


@dataclass(frozen=True, slots=True)
class Pick:
    """What the scheduler wants tested: a mutator on a seed, and the number that decides the rest.

    number: of the test in its campaign; with the campaign's seed it fixes every choice. Negative for a mutant that a source has made
    made:   that mutant
    """

    number: int
    draw: Draw
    mutator: Mutator | None
    seeds: Sequence[Seed]
    extra: Sequence[Mutator] = ()
    made: Mutant | None = None


@dataclass(frozen=True, slots=True)
class Mutant:
    """A program to judge.

    chain:    what was done, ``mutator:variant`` each
    observed: what the mutators added to what is returned, in order: (link of the chain, text that made it)
    outcome:  ``returned``, or why eager does not run it
    raises:   eager is meant to raise
    plainer:  what the first mutator alone made, when others followed
    """

    program: Program
    seed: str
    chain: tuple[str, ...]
    mutators: tuple[str, ...]
    characteristics: tuple[str, ...]
    observed: tuple[tuple[str, str], ...]
    outcome: str
    why: str = ""
    raises: bool = False
    plainer: Mutant | None = None

    @property
    def valid(self) -> bool:
        """Worth a compile: it runs in eager, or raises there on purpose."""
        return self.outcome == "returned" or (self.raises and self.outcome == "raised")


@dataclass(slots=True)
class Maker:
    """Makes mutants. Traces of seeds are kept, for they are asked for again and again."""

    runner: Runner
    _seeds: dict[str, Facts] = field(default_factory=dict)

    def make(self, pick: Pick) -> Mutant | None:
        """The mutant of a pick; None when its mutator finds nothing to work on in any of the seeds."""
        if pick.made is not None:
            return pick.made
        for attempt, seed in enumerate(pick.seeds[:TRIES]):
            facts = self._facts(seed)
            if not facts.returned:
                continue
            if pick.mutator is None:
                return Mutant(seed.program, seed.name, (), (), (), (), facts.outcome)
            made = self._apply(pick.mutator, seed.program, facts.document, pick.draw.child(f"try{attempt}"))
            if made is not None:
                return self._further(pick, seed, *made)
        return None

    def _further(self, pick: Pick, seed: Seed, subject: Subject, variant: str) -> Mutant:
        assert pick.mutator is not None
        program = subject.result()
        chain, used = [f"{pick.mutator.name}:{variant}"], [pick.mutator]
        observed = [(chain[0], text) for text in subject.observed]
        raises = pick.mutator.raises or subject.raises
        facts = facts_of(self.runner, program)

        def mutant(plainer: Mutant | None) -> Mutant:
            names, ids = tuple(m.name for m in used), tuple(dict.fromkeys(c for m in used for c in m.characteristics))
            return Mutant(program, seed.name, tuple(chain), names, ids, tuple(observed), facts.outcome, facts.why, raises, plainer)

        first = mutant(None)
        for i, mutator in enumerate(pick.extra):
            if not facts.returned:
                break
            made = self._apply(mutator, program, facts.document, pick.draw.child(f"extra{i}"))
            if made is None:
                continue
            candidate = made[0].result()
            after = facts_of(self.runner, candidate)
            if after.returned or (mutator.raises and after.outcome == "raised"):
                program, facts = candidate, after
                chain.append(f"{mutator.name}:{made[1]}")
                used.append(mutator)
                observed.extend((chain[-1], text) for text in made[0].observed)
                raises = raises or mutator.raises
        return mutant(first) if len(chain) > 1 else first

    def _apply(self, mutator: Mutator, program: Program, document: Mapping[str, JSON], draw: Draw) -> tuple[Subject, str] | None:
        subject = Subject(program, document)
        try:
            variant = mutator.apply(subject, draw)
        except SyntaxError:  # a template met a program of a shape that nobody thought of: nothing to work on
            return None
        return None if variant is None else (subject, variant)

    def _facts(self, seed: Seed) -> Facts:
        if seed.name not in self._seeds:
            self._seeds[seed.name] = facts_of(self.runner, seed.program)
        return self._seeds[seed.name]
