"""What thread workers tell the screen. Each is the whole result of one piece of work; the screen asks for nothing back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.message import Message

from store.records import JSON, Program, Verdict
from store.rows import BucketRow, Campaign, Event, FindingRow, Job, JobState, Run, Worker
from workbench.export.draft import Draft
from workbench.export.gates import Report


@dataclass(frozen=True, slots=True)
class Detail:
    """Everything that the detail pane shows of one finding."""

    row: FindingRow
    program: Program
    reduced: Program | None
    verdict: Verdict
    reduced_verdict: Verdict | None
    bucket: BucketRow
    members: tuple[int, ...]
    events: tuple[Event, ...]
    runs: tuple[Run, ...]
    ladder: Verdict | None
    jobs: tuple[Job, ...]

    @property
    def shown(self) -> Verdict:
        """The verdict on the smallest program."""
        return self.reduced_verdict or self.verdict

    @property
    def laddered(self) -> Verdict:
        """The verdict whose ladder is shown: of the smallest program, else of a ladder run later."""
        return self.ladder if self.ladder and not self.shown.ladder else self.shown


@dataclass(frozen=True, slots=True)
class DraftView:
    """A draft as the preview shows it: the text, the gates, and whether they have been run."""

    draft: Draft
    report: Report
    running: bool


@dataclass(frozen=True, slots=True)
class Exportable:
    """One of many findings to export: its gates as far as they have been run; ``waiting``: they are queued or running."""

    row: FindingRow
    report: Report
    waiting: JobState | None

    @property
    def open(self) -> bool:
        """Some of its gates have not been run, and none is on its way."""
        return self.waiting is None and any(gate.met is None for gate in self.report.gates)


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export of many did. ``refused``: findings that were not written, each with the reason; nothing is in both."""

    folder: Path
    written: Mapping[int, tuple[Path, ...]]
    refused: Mapping[int, str]


class Listed(Message):
    """The ids that match a query, in order; ``total``: how many findings there are in all."""

    def __init__(self, text: str, order: str, ids: Sequence[int], total: int) -> None:
        super().__init__()
        self.text, self.order, self.ids, self.total = text, order, ids, total


class QueryFailed(Message):
    """The query cannot be read; the list stays as it is. ``place``: from where to where in the text it is wrong."""

    def __init__(self, text: str, problem: str, hint: str, place: tuple[int, int] | None = None) -> None:
        super().__init__()
        self.text, self.problem, self.hint, self.place = text, problem, hint, place


class RowsLoaded(Message):
    """Rows of a page of the list. ``asked``: the ids asked for, so that those that are gone are known."""

    def __init__(self, asked: Sequence[int], rows: Sequence[FindingRow], version: int) -> None:
        super().__init__()
        self.asked, self.rows, self.version = asked, rows, version


class RowsFailed(Message):
    """A page could not be read."""


class Working(Message):
    """How many workers live, how many jobs run and wait."""

    def __init__(self, workers: int, running: int, queued: int) -> None:
        super().__init__()
        self.workers, self.running, self.queued = workers, running, queued


class DetailLoaded(Message):
    """A finding's detail, or None when it is gone."""

    def __init__(self, finding_id: int, detail: Detail | None) -> None:
        super().__init__()
        self.finding_id, self.detail = finding_id, detail


class DraftLoaded(Message):
    """A finding's draft for the preview."""

    def __init__(self, finding_id: int, view: DraftView) -> None:
        super().__init__()
        self.finding_id, self.view = finding_id, view


class ExportsLoaded(Message):
    """Some of the findings to export; ``gone``: those of them that are in the store no more."""

    def __init__(self, found: Sequence[Exportable], gone: Sequence[int]) -> None:
        super().__init__()
        self.found, self.gone = found, gone


class ExportsWritten(Message):
    """Drafts of many findings were written, or refused."""

    def __init__(self, exported: Exported) -> None:
        super().__init__()
        self.exported = exported


class StoreChanged(Message):
    """Somebody committed to the store, or it has come back."""


class StoreTrouble(Message):
    """The store cannot be read now; what is on the screen stays. ``text`` is empty when the trouble is over."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__()
        self.text, self.hint = text, hint


class Written(Message):
    """A change was made; ``text`` says which."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class WriteFailed(Message):
    """A change was refused or could not be made; nothing was changed."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__()
        self.problem, self.hint = problem, hint


@dataclass(frozen=True, slots=True)
class BucketDetail:
    """One bucket: its leader with its verdict, its members (the leader first), and those that a person put there."""

    bucket: BucketRow
    leader: FindingRow | None
    verdict: Verdict | None
    members: tuple[FindingRow, ...]
    moved: tuple[int, ...]


class BucketsLoaded(Message):
    """The buckets of the findings that match the filter; ``counts``: how many of each match."""

    def __init__(self, query: str, buckets: Sequence[BucketRow], counts: Mapping[int, int]) -> None:
        super().__init__()
        self.query, self.buckets, self.counts = query, buckets, counts


class BucketLoaded(Message):
    """One bucket."""

    def __init__(self, detail: BucketDetail) -> None:
        super().__init__()
        self.detail = detail


class Change(Message):
    """A change that a person has confirmed. ``merge``: (into, others...); ``split``: findings; ``duplicates``: (original, findings...); ``fold``: buckets;
    ``stop``: (campaign,)."""

    def __init__(self, kind: str, ids: tuple[int, ...]) -> None:
        super().__init__()
        self.kind, self.ids = kind, ids


@dataclass(frozen=True, slots=True)
class WorkDetail:
    """What is done now. ``reductions``: progress of the findings that are being reduced; ``logs``: last lines of detached processes."""

    workers: tuple[Worker, ...]
    running: tuple[Job, ...]
    queued: Mapping[str, int]
    ended: tuple[Job, ...]
    reductions: Mapping[int, Mapping[str, JSON]]
    campaigns: tuple[Campaign, ...]
    logs: Mapping[str, tuple[str, ...]]


class WorkLoaded(Message):
    """What is done now."""

    def __init__(self, detail: WorkDetail) -> None:
        super().__init__()
        self.detail = detail


class EditsEnded(Message):
    """Edited programs that were judged, or could not be, the last to end first."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        super().__init__()
        self.jobs = jobs


class TabsCounted(Message):
    """How many findings each saved filter shows; None where the filter cannot be read."""

    def __init__(self, counts: Mapping[str, int | None]) -> None:
        super().__init__()
        self.counts = counts


class WordsLoaded(Message):
    """Words in use, by key of the filter language, for completion."""

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self.words = words
