"""The app's thread workers: every touch of the store is one of these, and each ends by posting a message. None draws anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from textual import work
from textual.app import App
from textual.message import Message
from textual.worker import Worker, WorkerState, get_current_worker

from store.plain import one_line
from store.query import QueryError
from workbench.errors import StoreError, WorkbenchError
from workbench.triage import messages
from workbench.triage.source import Source
from workbench.triage.writer import Writer

P = ParamSpec("P")


def while_up(handler: Callable[P, None]) -> Callable[P, None]:
    """A handler of answers that drops those which come when the person has quit and the widgets are gone."""

    @wraps(handler)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        app = args[0]
        if isinstance(app, Threads) and app.screen_stack and app.screen_stack[0].is_attached:
            handler(*args, **kwargs)

    return guarded


class Threads(App[None]):
    """Reading and writing one store."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.source = Source(path)
        self.writer = Writer(path)
        self._fault = ""
        self._busy = False

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A thread that ended in a fault nobody foresaw is told, once; without this the screen would wait for it for ever."""
        if event.state is not WorkerState.ERROR:
            return
        fault = f"{type(event.worker.error).__name__}: {one_line(str(event.worker.error))}"
        if fault != self._fault:
            self._fault = fault
            self.post_message(messages.WriteFailed(f"{event.worker.group}: {fault}", "a fault of the workbench; nothing was changed"))

    @work(thread=True, exclusive=True, group="poll", exit_on_error=False)
    def _poll(self) -> None:
        try:
            changed = self.source.changed()
            # a lease runs out without anybody committing, so while something runs it is asked each time
            working = self.source.working() if changed or self._busy else None
        except (StoreError, OSError) as error:
            self.post_message(_trouble(error))
            return
        self.post_message(messages.StoreTrouble(""))
        if changed:
            self.post_message(messages.StoreChanged())
        if working:
            self._busy = working[1] > 0
            self.post_message(messages.Working(*working))

    @work(thread=True, exclusive=True, group="query", exit_on_error=False)
    def _list(self, text: str, order: str) -> None:
        worker = get_current_worker()
        try:
            ids, total = self.source.ids(text, order)
            answer: Message = messages.Listed(text, order, ids, total)
        except StoreError as error:
            answer = _trouble(error)
        except QueryError as error:
            answer = messages.QueryFailed(text, error.message, error.hint, (error.start, error.end))
        except WorkbenchError as error:
            answer = messages.QueryFailed(text, error.message, error.hint)
        if not worker.is_cancelled:
            self.post_message(answer)

    @work(thread=True, group="rows", exit_on_error=False)
    def _load_rows(self, ids: list[int], version: int) -> None:
        try:
            self.post_message(messages.RowsLoaded(ids, self.source.rows(ids), version))
        except StoreError as error:
            self.post_message(messages.RowsFailed())
            self.post_message(_trouble(error))

    @work(thread=True, exclusive=True, group="detail", exit_on_error=False)
    def _load_detail(self, finding_id: int) -> None:
        worker = get_current_worker()
        try:
            detail = self.source.detail(finding_id)
        except StoreError as error:
            self.post_message(_trouble(error))
            return
        if not worker.is_cancelled:
            self.post_message(messages.DetailLoaded(finding_id, detail))

    @work(thread=True, exclusive=True, group="draft", exit_on_error=False)
    def _load_draft(self, finding_id: int) -> None:
        try:
            view = self.source.draft(finding_id)
        except WorkbenchError as error:
            self.post_message(messages.WriteFailed(error.message, error.hint))
            return
        self.post_message(messages.DraftLoaded(finding_id, view))

    def _ask(self, group: str, question: Callable[[], Message | None]) -> None:
        """Post the answer to a question about the store; of one group only the newest question's."""

        def answer() -> None:
            worker = get_current_worker()
            try:
                message = question()
            except WorkbenchError as error:
                message = _trouble(error)
            if message is not None and not worker.is_cancelled:
                self.post_message(message)

        self.run_worker(answer, thread=True, exclusive=True, group=group, exit_on_error=False)

    @work(thread=True, group="write", exit_on_error=False)
    def _write(self, change: Callable[[], str]) -> None:
        try:
            self.post_message(messages.Written(change()))
        except WorkbenchError as error:
            self.post_message(messages.WriteFailed(error.message, error.hint))
        except OSError as error:
            self.post_message(messages.WriteFailed(str(error), "nothing was changed"))


def _trouble(error: Exception) -> messages.StoreTrouble:
    if isinstance(error, WorkbenchError):
        return messages.StoreTrouble(error.message, error.hint)
    return messages.StoreTrouble(str(error))
