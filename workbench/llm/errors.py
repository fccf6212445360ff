"""What can go wrong with an endpoint, each as one line for people and one word for the store."""

from __future__ import annotations

from collections.abc import Mapping

from store.records import JSON
from workbench.errors import WorkbenchError

ENDS = frozenset({"auth", "model", "quota", "unreachable", "budget", "address"})
"""Faults after which asking again is pointless: the rules go on alone."""
STRIKES = 3
"""Other faults in a row that end it as well."""


class LLMError(WorkbenchError):
    """A call that brought no answer.

    kind:         ``auth model quota rate unreachable broken timeout server request malformed address abandoned budget unrecorded``
    tries:        HTTP requests it took
    milliseconds: wall time it took
    parameters:   of the model, as they were sent
    """

    def __init__(self, kind: str, message: str, hint: str = "", *, tries: int = 0, milliseconds: int = 0) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.tries = tries
        self.milliseconds = milliseconds
        self.parameters: Mapping[str, JSON] = {}

    @property
    def ends(self) -> bool:
        """Nothing will come of asking again."""
        return self.kind in ENDS
