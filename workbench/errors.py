"""Errors of the workbench; the base and the store's own live in ``store.errors``."""

from __future__ import annotations

from store.errors import NotFoundError, StoreError, WorkbenchError

__all__ = ["NotFoundError", "ProgramError", "RunnerError", "StoreError", "WorkbenchError"]


class ProgramError(WorkbenchError):
    """A file that is no program, or whose workbench block is wrong."""


class RunnerError(WorkbenchError):
    """No server can be started or kept: no torch under that interpreter, or it dies at once."""

    exit_code = 3
