"""The one base error of the three packages: a message that says what is wrong and where, and a hint that says what to do.

The command line prints both as two lines and exits with ``exit_code``; nothing else may print a traceback for it.
"""

from __future__ import annotations


class WorkbenchError(Exception):
    """Something a person can understand and act on.

    message:   what is wrong and where, one line
    hint:      what to do, one line; empty when the message says it
    exit_code: 2 usage or invalid, 3 undecided, 4 not found, 5 store unusable (DESIGN §13)
    """

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StoreError(WorkbenchError):
    """The store cannot be used: no database, newer schema, read-only, locked, disk full."""

    exit_code = 5


class NotFoundError(WorkbenchError):
    """No finding, bucket, seed or characteristic of that name."""

    exit_code = 4
