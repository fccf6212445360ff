"""Small questions: which labels, which state, are you sure. Each returns its answer, or None when taken back with escape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from store.records import State
from workbench.commands.changes import parse_labels
from workbench.errors import WorkbenchError
from workbench.export.sentences import MARKS

STATE_WORDS = {
    State.NEW: "nobody has looked at it",
    State.CONFIRMED: "three of three cold runs show it",
    State.TRIAGED: "understood, ready to report",
    State.REPORTED: "an issue is filed",
    State.FIXED: "a newer torch does not show it",
    State.REGRESSED: "it was fixed and is back",
    State.FLAKY: "not every run shows it",
    State.NOISE: "rounding, ties, random streams",
    State.EXPECTED: "documented behaviour",
    State.DUPLICATE: "the same bug as another finding",
    State.WONTFIX: "real, and nobody will change it",
}


@dataclass(frozen=True, slots=True)
class LabelAnswer:
    """Labels to put on and to take off."""

    add: tuple[str, ...]
    remove: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateAnswer:
    """The state to set, why, and of a duplicate what it repeats."""

    state: State
    why: str
    duplicate_of: int | None


class LabelDialog(ModalScreen[LabelAnswer | None]):
    """One line: ``+silent -flaky``."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, question: str, current: Sequence[str], known: Sequence[str]) -> None:
        super().__init__()
        self._question, self._current, self._known = question, current, known

    def compose(self) -> ComposeResult:
        """Question, line, hint."""
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="dialog-title", markup=False)
            yield Static(f"now: {' '.join(self._current) or 'none'}", classes="dialog-hint", markup=False)
            yield Input(placeholder="+silent -flaky", suggester=SuggestFromList([s + n for n in self._known for s in ("+", "-", "")]))
            yield Static("+ or nothing puts on, - takes off; enter applies, esc goes back", classes="dialog-hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Apply, or say what is wrong and stay."""
        try:
            add, remove = parse_labels(event.value.split())
        except WorkbenchError as error:
            self.query(".dialog-hint").last(Static).update(f"✗ {error.message}. {error.hint}")
            return
        self.dismiss(LabelAnswer(tuple(add), tuple(remove)) if add or remove else None)


class StateDialog(ModalScreen[StateAnswer | None]):
    """The states as a list, and a line for why."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel"),
        Binding("j", "down", "Down", show=False),
        Binding("k", "up", "Up", show=False),
    ]

    def __init__(self, question: str, current: State | None) -> None:
        super().__init__()
        self._question, self._current = question, current
        self._chosen: State | None = None

    def compose(self) -> ComposeResult:
        """Question, states, why."""
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="dialog-title", markup=False)
            options = [Option(f"{MARKS[s]} {s:<10} {STATE_WORDS[s]}", id=s.value, disabled=s is self._current) for s in State]
            yield OptionList(*options, id="states", markup=False)
            yield Input(placeholder="why (optional; for duplicate the number of the finding it repeats)", id="why", disabled=True)
            yield Static("a letter goes to a state, enter chooses, esc goes back; u undoes afterwards", classes="dialog-hint", markup=False)

    def on_key(self, event: events.Key) -> None:
        """A letter goes to the next state that begins with it."""
        options = self.query_one(OptionList)
        if not options.has_focus or event.character is None or not event.character.isalpha():
            return
        states = list(State)
        after = (options.highlighted if options.highlighted is not None else -1) + 1
        for index in [*range(after, len(states)), *range(after)]:
            if states[index].startswith(event.character) and states[index] is not self._current:
                options.highlighted = index
                event.stop()
                return

    def action_down(self) -> None:
        """The next state."""
        self.query_one(OptionList).action_cursor_down()

    def action_up(self) -> None:
        """The state before."""
        self.query_one(OptionList).action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A state is chosen; now why."""
        self._chosen = State(str(event.option.id))
        line = self.query_one("#why", Input)
        line.disabled = False
        if self._chosen is State.DUPLICATE:
            line.placeholder = "number of the finding that it repeats"
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Apply."""
        assert self._chosen is not None
        if self._chosen is not State.DUPLICATE:
            self.dismiss(StateAnswer(self._chosen, event.value.strip(), None))
            return
        first, _, why = event.value.strip().lstrip("#").partition(" ")
        if not first.isdigit():
            self.query(".dialog-hint").last(Static).update("✗ a duplicate needs the number of the finding that it repeats, such as: 12")
            return
        self.dismiss(StateAnswer(self._chosen, why.strip(), int(first)))


class ConfirmDialog(ModalScreen[bool]):
    """Yes or no, for what leaves the list. The question's first line and last paragraph are always seen; what lies between scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "dismiss(True)", "Yes"),
        Binding("n,escape", "dismiss(False)", "No"),
        Binding("j,down", "scroll(1)", "Down", show=False),
        Binding("k,up", "scroll(-1)", "Up", show=False),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        title, _, rest = question.partition("\n")
        between, _, last = rest.strip("\n").rpartition("\n\n")
        self._title, self._between, self._last = title, between, last

    def compose(self) -> ComposeResult:
        """The question and its keys."""
        with Vertical(classes="dialog"):
            yield Static(self._title, classes="dialog-title", markup=False)
            if self._between:
                with VerticalScroll(classes="dialog-scroll", can_focus=False):
                    yield Static(self._between, classes="dialog-lines", markup=False)
            if self._last:
                yield Static(self._last, classes="dialog-last", markup=False)
            yield Static("y yes   n no", classes="dialog-hint", markup=False)

    def action_scroll(self, lines: int) -> None:
        """See more of what lies between."""
        for between in self.query(".dialog-scroll").results(VerticalScroll):
            between.scroll_relative(y=lines, animate=False)
