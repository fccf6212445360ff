"""The query bar: the store's filter language, filtered while typing, completed, and its errors shown in place."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from store.query import KEYS, VALUES


class QueryBar(Vertical):
    """An input line, and under it the error or what the key at hand takes."""

    HELP = """
    ## Filter

    `state:new op:softmax -label:flaky dtype:f16 age:<7d "exact words"`: conditions joined by *and*, values after one
    key by *or* (`state:new,confirmed`), `-` in front negates, ranges as `<10`, `10..40`.
    `enter` goes to the list, `esc` takes the filter back, `→` completes.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Take back", show=False)]

    class Changed(Message):
        """Another filter; ``done``: the person has finished typing."""

        def __init__(self, text: str, *, done: bool) -> None:
            super().__init__()
            self.text, self.done = text, done

    def __init__(self, text: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._text = text
        self._before = text

    def compose(self) -> ComposeResult:
        """The line and its hint."""
        yield Input(
            self._text, placeholder="/ filter: state:new op:softmax -label:flaky dtype:f16 age:<7d", suggester=Completion(), id="query"
        )
        yield Static(id="query-hint", markup=False)

    @property
    def text(self) -> str:
        """What stands in the line."""
        return self.query_one(Input).value

    def set_text(self, text: str) -> None:
        """Put another filter into the line, as if typed and finished."""
        self.query_one(Input).value = text
        self.post_message(self.Changed(text, done=True))

    def edit(self) -> None:
        """Begin to type."""
        self._before = self.text
        self.query_one(Input).focus()

    def complain(self, problem: str, hint: str) -> None:
        """Say in place what is wrong; an empty problem takes it away."""
        self.set_class(bool(problem), "-wrong")
        self.query_one("#query-hint", Static).update(f"✗ {problem}. {hint}" if problem else "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing, and tell what the key at hand takes."""
        event.stop()
        self.complain("", "")
        word = event.value[: self.query_one(Input).cursor_position].rpartition(" ")[2].lstrip("-")
        key = word.partition(":")[0]
        if ":" in word and key in KEYS:
            self.query_one("#query-hint", Static).update(f"{key}: {KEYS[key]}")
        self.post_message(self.Changed(event.value, done=False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Finished."""
        event.stop()
        self.query_one("#query-hint", Static).update("")
        self.post_message(self.Changed(event.value, done=True))

    def action_cancel(self) -> None:
        """Back to the filter as it was."""
        self.set_text(self._before)


class Completion(Suggester):
    """Completes the last word: a key, or a value of a key."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """The whole line with its last word completed, or None."""
        before, _, word = value.rpartition(" ")
        head = value[: len(value) - len(word)] if before or value.startswith(" ") else ""
        minus = "-" if word.startswith("-") else ""
        key, colon, part = word.removeprefix("-").partition(":")
        if not colon:
            return next((f"{head}{minus}{k}:" for k in KEYS if key and k.startswith(key)), None)
        front, comma, last = part.rpartition(",")
        known = VALUES.get(key, ())
        return next((f"{head}{minus}{key}:{front}{comma}{v}" for v in known if last and v.startswith(last) and v != last), None)
