"""One line to fill in, checked before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from workbench.errors import WorkbenchError


class AskDialog(ModalScreen[str | None]):
    """Returns the line, or None. ``check`` raises WorkbenchError for a line that will not do; it is said, and the dialog stays."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Cancel")]

    def __init__(self, question: str, initial: str, hint: str, *, check: Callable[[str], object]) -> None:
        super().__init__()
        self._question, self._initial, self._hint, self._check = question, initial, hint, check

    def compose(self) -> ComposeResult:
        """Question, line, hint."""
        with Vertical(classes="dialog"):
            yield Static(self._question, classes="dialog-title", markup=False)
            yield Input(self._initial, select_on_focus=False)
            yield Static(self._hint, classes="dialog-hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it, or say what is wrong and stay."""
        event.stop()
        try:
            self._check(event.value)
        except WorkbenchError as error:
            self.query_one(".dialog-hint", Static).update(f"✗ {error.message}" + (f". {error.hint}" if error.hint else ""))
            return
        self.dismiss(event.value)
