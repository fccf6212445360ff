"""The query bar: the store's filter language, filtered while typing, completed, and its errors shown in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Static

from store.query import KEYS, VALUES

LISTED = 12
"""Words that the hint lists at most."""


class QueryBar(Vertical):
    """An input line, and under it the error or what the key at hand takes."""

    HELP = """
    ## Filter

    `state:new op:softmax -label:flaky dtype:f16 age:<7d "exact words"`: conditions joined by *and*, values after one
    key by *or* (`state:new,confirmed`), `-` in front negates, ranges as `<10`, `10..40`.
    `enter` goes to the list, `esc` takes the filter back, `→` or `tab` completes.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Take back", show=False),
        Binding("tab", "complete", "Complete", show=False, priority=True),
    ]

    class Changed(Message):
        """Another filter; ``done``: the person has finished typing."""

        def __init__(self, text: str, *, done: bool) -> None:
            super().__init__()
            self.text, self.done = text, done

    class WordsWanted(Message):
        """Typing begins: the words in use would help."""

    def __init__(self, text: str = "", *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._text = text
        self._before = text
        self.completion = Completion()

    def compose(self) -> ComposeResult:
        """The line and its hint."""
        yield Input(
            self._text, placeholder="/ filter: state:new op:softmax -label:flaky dtype:f16 age:<7d", suggester=self.completion, id="query"
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
        self.post_message(self.WordsWanted())

    def complain(self, problem: str, hint: str, place: tuple[int, int] | None = None) -> None:
        """Say in place what is wrong, under the words that are; an empty problem takes it away."""
        self.set_class(bool(problem), "-wrong")
        below = ""
        if problem and place is not None:
            text = self.text
            low, high = place
            wide = cell_len(text[:low])
            if wide + cell_len(text[low:high]) < self.size.width - 2:  # else the line has scrolled, and no place is right
                below = " " * wide + "‾" * max(1, cell_len(text[low:high].rstrip())) + "\n"
        self.query_one("#query-hint", Static).update(f"{below}✗ {problem}. {hint}" if problem else "")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing, and tell what the key at hand takes."""
        event.stop()
        self.complain("", "")
        self.query_one("#query-hint", Static).update(self.completion.hint(event.value[: self.query_one(Input).cursor_position]))
        self.post_message(self.Changed(event.value, done=False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Finished."""
        event.stop()
        self.query_one("#query-hint", Static).update("")
        self.post_message(self.Changed(event.value, done=True))

    def action_complete(self) -> None:
        """Take the suggestion."""
        self.query_one(Input).action_cursor_right()

    def action_cancel(self) -> None:
        """Back to the filter as it was."""
        self.set_text(self._before)


class Completion(Suggester):
    """Completes the last word: a key, or a value of a key. ``words``: words in use, by key."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.words: Mapping[str, Sequence[str]] = {}

    def known(self, key: str, part: str) -> list[str]:
        """Values of a key that begin so; those in use after those of the language."""
        every = dict.fromkeys([*VALUES.get(key, ()), *self.words.get(key, ())])
        return [value for value in every if value.strip('"').startswith(part.strip('"'))]

    def hint(self, value: str) -> str:
        """What the key at hand takes, and which values there are."""
        word = value.rpartition(" ")[2].removeprefix("-")
        key, colon, part = word.partition(":")
        if not colon:
            keys = [k for k in KEYS if key and k.startswith(key)]
            return f"keys: {' '.join(f'{k}:' for k in keys)}" if keys else ""
        if key not in KEYS:
            return ""
        values = self.known(key, part.rpartition(",")[2]) if key not in VALUES else []
        return f"{key}: {KEYS[key]}" + (f"\nin use: {' '.join(values[:LISTED])}{' …' if len(values) > LISTED else ''}" if values else "")

    async def get_suggestion(self, value: str) -> str | None:
        """The whole line with its last word completed, or None."""
        before, _, word = value.rpartition(" ")
        head = value[: len(value) - len(word)] if before or value.startswith(" ") else ""
        minus = "-" if word.startswith("-") else ""
        key, colon, part = word.removeprefix("-").partition(":")
        if not colon:
            return next((f"{head}{minus}{k}:" for k in KEYS if key and k.startswith(key)), None)
        front, comma, last = part.rpartition(",")
        longer = (v for v in self.known(key, last) if last and v != last and v.startswith(last))
        return next((f"{head}{minus}{key}:{front}{comma}{v}" for v in longer), None)
