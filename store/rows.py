"""What the store hands out: plain frozen rows of findings, buckets, jobs, events, workers, campaigns. They know nothing of SQL.

Times are ISO-8601 text in UTC with milliseconds, so that they sort as text and Datasette shows them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from store.records import JSON, Stage, State, Symptom

CONFIRMING_RUNS = 3
"""A finding is confirmed when so many cold runs of as many show the same mismatch (DESIGN §7)."""


class Reduction(StrEnum):
    """How far the reducer is with a finding; a column of its own, never a state."""

    NONE = "none"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class JobKind(StrEnum):
    """What `workbench work` can be asked for. ``edit``: judge the text in the payload's ``program``, which a person made of the finding's program."""

    REDUCE = "reduce"
    RECHECK = "recheck"
    GATES = "gates"
    LADDER = "ladder"
    GRID = "grid"
    EDIT = "edit"


class JobState(StrEnum):
    """A running job whose lease has expired is taken again by the next claim."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding as lists and details show it; program texts and verdicts are asked for by id.

    uid:           hash of program and configuration; the same in every store
    bucket:        id of the bucket it shares with findings of equal signature
    signature:     ``Signature.text()``; ``final`` once it comes from a reduced program
    ops:           what the program calls, in order, each once
    code:          trigger code of its characteristic (NT PO AM BV OS SR MD LC EN), or empty
    configuration: only what differs from the defaults
    torch:         version that judged it last; ``fixed_torch``: version that showed it fixed
    count:         how often it was found
    statements:    of the reduced program if there is one, else of the original
    verified:      (n, m): n of m cold runs showed the same mismatch; (0, 0) before the first
    generated:     an LLM proposed the title; marked wherever the title is shown
    """

    id: int
    uid: str
    title: str
    state: State
    bucket: int
    signature: str
    final: bool
    stage: Stage | None
    symptoms: tuple[Symptom, ...]
    guilty: str | None
    labels: tuple[str, ...]
    assignee: str
    origin: str
    seed: str | None
    characteristic: str | None
    code: str
    mutators: tuple[str, ...]
    backend: str
    dtype: str
    ops: tuple[str, ...]
    configuration: Mapping[str, JSON]
    torch: str
    fixed_torch: str
    count: int
    reduction: Reduction
    statements: int
    created: str
    seen: str
    program_sha: str
    reduced_sha: str | None
    duplicate_of: int | None
    verified: tuple[int, int]
    campaign: int | None
    generated: bool = False

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class BucketRow:
    """Findings that are the same bug as far as signatures tell.

    leader:  the finding with the smallest reliable repro; None when no member is left
    members: findings that are not deleted; ``count``: how often all of them were found
    keys:    the signatures that lead here
    """

    id: int
    title: str
    signature: str
    stage: Stage | None
    symptoms: tuple[Symptom, ...]
    leader: int | None
    members: int
    count: int
    created: str
    keys: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Job:
    """One leased piece of work. ``worker`` holds it until ``lease_until``; ``attempts`` counts claims."""

    id: int
    kind: JobKind
    finding_id: int | None
    payload: Mapping[str, JSON]
    state: JobState
    actor: str
    worker: str | None
    lease_until: str | None
    attempts: int
    created: str
    started: str | None
    finished: str | None
    result: Mapping[str, JSON] | None = None
    reason: str = ""

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that takes jobs and was heard of within its lease. ``jobs``: ids it holds now."""

    name: str
    started: str
    lease_until: str
    jobs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """One line of history. Events are only ever appended; undo appends too.

    step:   events of one action share it; it is what undo takes back
    kind:   ``created state label assignee title deleted bucket signature reduced verified imported edited``
    undoes: the step that this one takes back (an undo, or the redo of an undo), else None; 0: a step of another store
    """

    id: int
    step: int
    at: str
    actor: str
    finding_id: int | None
    kind: str
    before: Mapping[str, JSON]
    after: Mapping[str, JSON]
    why: str = ""
    undoes: int | None = None

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Run:
    """One more judgement of a finding: a re-check, a rung of the ladder, a cell of the configuration grid."""

    id: int
    finding_id: int
    purpose: str
    outcome: str
    configuration: Mapping[str, JSON]
    torch: str
    seconds: float
    at: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What an import of another store did.

    new:       findings that were not here
    known:     findings that were
    changed:   known findings that took over a later decision (state, label, title, assignee)
    reduced:   known findings that took over a reduced program
    deleted:   findings of theirs that are deleted here and stay so
    events, runs, gates: history, judgements and last runs of the gates that were not here
    buckets:   new buckets
    left_calls: calls to LLMs that stay behind in theirs; ``left_jobs``: jobs that wait or run there
    conflicts: sentences about what could not be brought together and was left as it is here
    """

    new: int = 0
    known: int = 0
    changed: int = 0
    reduced: int = 0
    deleted: int = 0
    events: int = 0
    runs: int = 0
    gates: int = 0
    buckets: int = 0
    left_calls: int = 0
    left_jobs: int = 0
    conflicts: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return {**asdict(self), "conflicts": list(self.conflicts)}


@dataclass(frozen=True, slots=True)
class Pruned:
    """What a pruning forgot, or would forget. ``bytes``: by how much the file shrank; 0 for a dry run."""

    findings: int = 0
    jobs: int = 0
    texts: int = 0
    memo: int = 0
    bytes: int = 0

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Campaign:
    """One `workbench fuzz`: what it was asked for and its counters so far. ``state``: ``running stopping finished interrupted``."""

    id: int
    state: str
    started: str
    updated: str
    finished: str | None
    settings: Mapping[str, JSON] = field(default_factory=dict)
    counters: Mapping[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call to an LLM endpoint (``store.llm_calls.Asked`` says what the fields mean), and what became of the program it brought.

    verdict: outcome of the oracle; None while, or because, it was not judged
    finding: what its program was kept as
    """

    id: int
    at: str
    purpose: str
    prompt: str
    model: str
    answered_by: str
    host: str
    key: str
    parameters: Mapping[str, JSON]
    outcome: str
    detail: str
    finish: str
    seed: str
    characteristic: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    milliseconds: int
    tries: int
    cost: float | None
    replayed: bool
    verdict: str | None = None
    finding: int | None = None
    parent: int | None = None
    campaign: int | None = None

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON, every field."""
        return asdict(self)
