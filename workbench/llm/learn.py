"""A characteristic, and a rule mutator where one can be made, drafted once from the text of an issue or a commit; run for free ever after.

Drafts are files for a person to read and accept. Nothing of an answer is executed here; its programs run untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from store.records import JSON, Program, Stage, Symptom
from store.syntax import parse
from workbench import characteristics
from workbench.characteristics import CODES, Characteristic
from workbench.errors import WorkbenchError
from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators.learned import Item, binds_result, rule, templated
from workbench.fuzz.subject import Subject
from workbench.fuzz.tracing import Runner, facts_of
from workbench.llm import answers, gates, prompts
from workbench.llm.caller import Caller
from workbench.llm.errors import LLMError
from workbench.seeds import Seed

REPAIRS = 2
SEEDS = 8
"""Seeds that a rule is tried on."""
LEAST_APPLIED, LEAST_RUNS = 3, 2 / 3
"""A rule is offered when it fits at least so many seeds and so many of its mutants run in eager."""
STATEMENTS = 12
_FIELD = re.compile(r"^[ \t*#>-]*(id|code|title|do|why|stages|symptoms)[ \t*]*:[ \t*]*(.+?)[ \t*]*$", re.MULTILINE | re.IGNORECASE)
_ISSUE = re.compile(r"(?:pytorch/pytorch)?#(\d{3,6})\b|/(?:issues|pull)/(\d{3,6})\b")


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule on seeds. fitted: seeds it found something to work on; changed: texts it changed; ran: mutants that eager runs."""

    seeds: int = 0
    fitted: int = 0
    changed: int = 0
    ran: int = 0
    repeatable: bool = True
    problem: str = ""

    @property
    def good(self) -> bool:
        """Worth offering to a person."""
        return self.repeatable and self.changed == self.fitted >= LEAST_APPLIED and self.ran >= LEAST_RUNS * self.fitted


@dataclass(frozen=True, slots=True)
class Draft:
    """What one text gave. ``outcome``: ``valid``, or the gate that no repair got it through."""

    outcome: str
    problem: str = ""
    characteristic: Characteristic | None = None
    rule: Item | None = None
    trial: Trial = field(default_factory=Trial)

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON."""
        t = self.trial
        return {
            "outcome": self.outcome,
            "problem": self.problem,
            "characteristic": self.characteristic.to_json() if self.characteristic else None,
            "rule": self.rule[1] if self.rule else None,
            "trial": {
                "seeds": t.seeds,
                "fitted": t.fitted,
                "changed": t.changed,
                "ran": t.ran,
                "repeatable": t.repeatable,
                "problem": t.problem,
            },
        }


@dataclass(slots=True)
class Learner:
    """Drafts from texts. ``seeds``: what rules are tried on."""

    caller: Caller
    runner: Runner
    seeds: Sequence[Seed]
    sample: int = 0
    _drafted: set[str] = field(default_factory=set)

    def draft(self, text: str) -> Draft:
        """The draft of one text. LLMError when the endpoint brings no answer."""
        found: list[Characteristic] = []

        def read(answer: str) -> tuple[str, str]:
            drafted = self._characteristic(answer, text)
            if isinstance(drafted, Characteristic):
                found.append(drafted)
                return gates.VALID, ""
            return drafted

        outcome, problem, prompt = self._turns(prompts.learning(text), read, found)
        if not found:
            return Draft(outcome, problem)
        self._drafted.add(found[-1].id)
        rules: list[tuple[Item, Trial]] = []
        last = [Trial()]

        def read_rule(answer: str) -> tuple[str, str]:
            made = self._rule(answer, found[-1])
            if isinstance(made[0], str):
                return made[0], str(made[1])
            item, trial = made
            assert isinstance(trial, Trial)
            last[0] = trial
            if trial.good:
                rules.append((item, trial))
                return gates.VALID, ""
            told = trial.problem or f"it fits {trial.fitted} of {trial.seeds} programs"
            return ("eager" if trial.problem else "rule"), told

        self._turns(prompt, read_rule, found)
        if not rules:
            return Draft(gates.VALID, "", found[-1], None, last[0])
        return Draft(gates.VALID, "", found[-1], *rules[-1])

    def _turns(
        self, prompt: prompts.Prompt, read: Callable[[str], tuple[str, str]], found: Sequence[Characteristic]
    ) -> tuple[str, str, prompts.Prompt]:
        """Ask, and ask again with what is wrong; the last outcome, its problem, and the prompt that goes on from the answer."""
        parent: int | None = None
        for turn in range(REPAIRS + 1):
            name = found[-1].id if found else ""
            try:
                reply = self.caller.ask(prompt, "learn", sample=self.sample, temperature=0.2, more=2)
            except LLMError as error:
                self.caller.failed(prompt, "learn", error, characteristic=name, parent=parent)
                raise
            parent = self.caller.keep(reply, characteristic=name, parent=parent)
            finish, text = reply.answer.finish, reply.answer.text
            outcome, problem = (
                read(text)
                if finish == "stop" and text.strip()
                else ("truncated" if finish == "length" else "empty", "the answer was cut off")
            )
            self.caller.settle(parent, outcome, problem, characteristic=found[-1].id if found else "")
            if outcome == gates.VALID:
                return outcome, "", prompt.then(text, "learn-rule")
            if turn < REPAIRS:
                prompt = prompt.then(text or "(nothing)", "learn-repair", problem=problem)
        return outcome, problem, prompt

    # ---- characteristic ------------------------------------------------------------------------------------------------------------

    def _characteristic(self, answer: str, text: str) -> Characteristic | tuple[str, str]:
        fields = {name.lower(): _unquoted(value.strip()) for name, value in _FIELD.findall(answers.prose_in(answer))}
        missing = [name for name in ("id", "code", "title", "do", "why") if not fields.get(name)]
        if missing:
            return "contract", f"there is no line {missing[0]}: ..."
        code = next((c for c in re.findall(r"\b[A-Z]{2}\b", fields["code"]) if c in CODES), "")
        if not code:
            return "contract", f"code must be one of {', '.join(CODES)}"
        stages, symptoms = _words(fields.get("stages", ""), Stage), _words(fields.get("symptoms", ""), Symptom)
        if not stages or not symptoms:
            return "contract", f"stages are of {', '.join(Stage)}; symptoms of {', '.join(Symptom)}"
        blocks = answers.snippets_in(answer)
        if len(blocks) < 2:
            return "fence", "two ```python blocks are needed, before and after"
        programs = []
        for name, block in (("before", blocks[0]), ("after", blocks[1])):
            mended, _, stopped = gates.usable(block, blocks[0])
            if stopped is not None:
                return stopped.outcome, f"{name}: {stopped.problem}"
            programs.append(Program(mended.source.strip("\n") + "\n", name=name))
        if gates.identity(programs[0]) == gates.identity(programs[1]):
            return "duplicate", "before and after are the same program"
        for program in programs:
            facts = facts_of(self.runner, program)
            if not facts.returned:
                return "eager", f"{program.name}: plain PyTorch does not run it ({facts.outcome}): {facts.why}"[:300]
        issues = tuple(dict.fromkeys(int(a or b) for a, b in _ISSUE.findall(text)))[:5]
        name = self._free("-".join(re.findall(r"[a-z0-9]+", fields["id"].lower()))[:48].strip("-") or "learned")
        made = Characteristic(
            name,
            code,
            fields["title"][:120],
            fields["do"][:400],
            fields["why"][:400],
            stages,
            symptoms,
            programs[0].source,
            programs[1].source,
            issues,
        )
        try:
            return characteristics.parse(name, as_toml(made))
        except WorkbenchError as error:
            return "contract", error.message

    def _free(self, name: str) -> str:
        """The name, numbered when the catalogue or an earlier draft of ours has it already."""
        taken = {*characteristics.catalogue(), *self._drafted}
        return name if name not in taken else next(f"{name}-{n}" for n in range(2, 1000) if f"{name}-{n}" not in taken)

    # ---- rule ----------------------------------------------------------------------------------------------------------------------

    def _rule(self, answer: str, characteristic: Characteristic) -> tuple[Item, Trial] | tuple[str, str]:
        blocks = answers.snippets_in(answer)
        if not blocks:
            return "fence", "there is no snippet in a ```python block"
        code = templated(blocks[0])
        try:
            tree = parse(code.format(v="v", r="made"))
            bound = binds_result(code)
        except (SyntaxError, ValueError, KeyError, IndexError, RecursionError, MemoryError) as error:
            return "syntax", f"Python does not read it: {error}"[:200]
        if not bound or "{v}" not in code:
            return "contract", "it must use {v} and assign {r}"
        if len(tree.body) > STATEMENTS:
            return "contract", f"at most {STATEMENTS} statements"
        problem = gates.refused(tree) or ("it must import nothing" if re.search(r"^\s*(import|from)\s", code, re.MULTILINE) else "")
        if problem:
            return "imports", problem
        item = (characteristic.id.replace("-", "_"), code, "{r}")
        return item, self.tried(item)

    def tried(self, item: Item) -> Trial:
        """The rule on some seeds: changes the text, the same way twice, and eager still runs."""
        apply, trial = rule([item]), Trial()
        for seed in self.seeds[:: max(1, len(self.seeds) // SEEDS)][:SEEDS]:
            facts = facts_of(self.runner, seed.program)
            if not facts.returned:
                continue
            trial = replace(trial, seeds=trial.seeds + 1)
            made = []
            for _ in range(2):
                subject = Subject(seed.program, facts.document)
                made.append(subject.result() if apply(subject, Draw("learn", seed.name)) is not None else None)
            if made[0] is None:
                continue
            changed = made[0].source != Subject(seed.program, facts.document).result().source
            after = facts_of(self.runner, made[0])
            trial = replace(
                trial,
                fitted=trial.fitted + 1,
                changed=trial.changed + changed,
                ran=trial.ran + after.returned,
                repeatable=trial.repeatable and made[0] == made[1],
                problem=trial.problem or ("" if after.returned else f"in some programs plain PyTorch does not run it: {after.why}"[:300]),
            )
        return trial


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`" else text


def _words(text: str, kind: type[Stage] | type[Symptom]) -> tuple[JSON, ...]:
    """The members of an enumeration that a line names."""
    known = {str(k) for k in kind}
    return tuple(kind(w) for w in dict.fromkeys(re.findall(r"\w+", text.lower())) if w in known)


def as_toml(c: Characteristic) -> str:
    """The characteristic as the file that the catalogue reads."""
    lines = [f"code = {_quoted(c.code)}", f"title = {_quoted(c.title)}", f"do = {_quoted(c.do)}", f"why = {_quoted(c.why)}"]
    lines += [
        f"{name} = [{', '.join(_quoted(str(v)) for v in values)}]" for name, values in (("stages", c.stages), ("symptoms", c.symptoms))
    ]
    lines += [f"issues = [{', '.join(map(str, c.issues))}]"] if c.issues else []
    return "\n".join([*lines, f"before = {_block(c.before)}", f"after = {_block(c.after)}"]) + "\n"


def rule_as_toml(item: Item) -> str:
    """The rule as the file that ``fuzz.mutators.learned`` reads."""
    name, code, seen = item
    head = "# Drafted by an LLM from an issue, tried on seeds, accepted by a person. {v}: a tensor of the program, {r}: the result's name."
    return f"{head}\n\n[[item]]\nname = {_quoted(name)}\ncode = {_block(code + chr(10))}\nseen = {_quoted(seen)}\n"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _block(text: str) -> str:
    """A multi-line string; literal where the text allows it, so that a person can read it."""
    plain = "'''" not in text and not text.endswith("'") and all(ch.isprintable() or ch in "\n\t" for ch in text)
    return f"'''\n{text}'''" if plain else _quoted(text)
