"""One mutant from the LLM: ask, gate, mend, ask again at most twice for what does not run; never for what it had no idea about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from store.records import Program
from workbench.characteristics import Characteristic
from workbench.fuzz.mutants import Mutant
from workbench.fuzz.tracing import Runner
from workbench.llm import gates, prompts
from workbench.llm.caller import Caller, Reply
from workbench.llm.errors import LLMError
from workbench.seeds import Seed

REPAIRS = 2
"""Repair turns for an invalid program; later ones seldom bring anything."""
NAME = "llm"
"""What it is called among the mutators."""
RAISING = frozenset({"lost-validation"})
"""Characteristics whose programs may raise in eager."""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of one try. ``calls``: ids in the store, the last is the one whose answer became the mutant; ``outcome``: of the last gate."""

    outcome: str
    problem: str
    mutant: Mutant | None
    calls: tuple[int, ...]
    mends: tuple[str, ...] = ()


@dataclass(slots=True)
class Author:
    """Writes mutants. ``known``: identities of earlier answers, so that none is judged twice.

    block: answers end with their first block; given up for a model that thinks aloud, whose thoughts hold blocks too
    """

    caller: Caller
    runner: Runner
    known: set[str] = field(default_factory=set)
    block: bool = True

    def write(self, characteristic: Characteristic, seed: Seed, *, sample: int, tried: Sequence[str] = ()) -> Written:
        """A mutant of ``seed`` that has the characteristic, or why there is none. LLMError when the endpoint brings no answer."""
        program = seed.program
        context = gates.Context(characteristic.id, program, self._known(characteristic, program), raises_ok=characteristic.id in RAISING)
        prompt = prompts.mutation(characteristic, program.source, tried)
        calls: list[int] = []
        purpose, more = "mutate", 1
        while True:
            reply = self._ask(prompt, purpose, sample, more, seed, characteristic, calls)
            parent = calls[-1] if calls else None
            calls.append(self.caller.keep(reply, seed=seed.name, characteristic=characteristic.id, parent=parent))
            found = gates.gate(reply.answer.text, reply.answer.finish, context, self.runner)
            self.caller.settle(calls[-1], found.outcome, found.problem or " ".join(found.mends))
            if found.outcome == "truncated" and more == 1:
                more = 2
            elif self.block and found.outcome in ("empty", "fence") and _thinks(reply.answer.text):
                self.block = False
            elif found.outcome in gates.REPAIRABLE and prompt_turns(prompt) < REPAIRS:
                purpose, prompt = "repair", prompt.then(f"```python\n{found.source.strip()}\n```", "repair", problem=found.problem)
            else:
                break
        mutant = None
        if found.valid and found.program is not None:
            self.known.add(gates.identity(found.program))
            mutant = _mutant(found, characteristic, seed)
        return Written(found.outcome, found.problem, mutant, tuple(calls), found.mends)

    def _ask(
        self, prompt: prompts.Prompt, purpose: str, sample: int, more: int, seed: Seed, characteristic: Characteristic, calls: Sequence[int]
    ) -> Reply:
        try:
            return self.caller.ask(prompt, purpose, sample=sample, more=more, block=self.block)
        except LLMError as error:
            parent = calls[-1] if calls else None
            self.caller.failed(prompt, purpose, error, seed=seed.name, characteristic=characteristic.id, parent=parent)
            raise

    def _known(self, characteristic: Characteristic, seed: Program) -> set[str]:
        """The seed, the example and all earlier answers."""
        example = [gates.identity(Program(text)) for text in (characteristic.before, characteristic.after)]
        return {gates.identity(seed), *example, *self.known}


def _thinks(text: str) -> bool:
    """Whether an answer ended inside the model's thoughts; some servers keep those to themselves, and nothing is left."""
    return not text.strip() or "<think" in text.lower()


def prompt_turns(prompt: prompts.Prompt) -> int:
    """Repair turns that a conversation already has."""
    return prompt.version.count("repair/")


def _mutant(found: gates.Gated, characteristic: Characteristic, seed: Seed) -> Mutant:
    assert found.program is not None
    did = " ".join(gates.added(found.program, seed.program)) or "rearranged"
    chain = (f"{NAME}:{characteristic.id} {did}"[:160],)
    outcome = "raised" if found.raises else "returned"
    return Mutant(found.program, seed.name, chain, (NAME,), (characteristic.id,), (), outcome, raises=found.raises)
