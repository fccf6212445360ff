"""What thread workers tell the screen. Each is the whole result of one piece of work; the screen asks for nothing back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from store.records import Program, Verdict
from store.rows import BucketRow, Event, FindingRow, Job, Run
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


class Listed(Message):
    """The ids that match a query, in order; ``total``: how many findings there are in all."""

    def __init__(self, text: str, order: str, ids: Sequence[int], total: int) -> None:
        super().__init__()
        self.text, self.order, self.ids, self.total = text, order, ids, total


class QueryFailed(Message):
    """The query cannot be read; the list stays as it is."""

    def __init__(self, text: str, problem: str, hint: str) -> None:
        super().__init__()
        self.text, self.problem, self.hint = text, problem, hint


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
