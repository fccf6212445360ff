"""The opened file under every store object: who may use it, when it is let go, whether others have committed, and a copy of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from store.connect import Connection


class Handle:
    """One opened store file. Use as a context manager, or ``close``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def path(self) -> Path:
        """The SQLite file."""
        return self._connection.path

    @property
    def readonly(self) -> bool:
        """True when nothing can be written through this store."""
        return self._connection.readonly

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        self._connection.close()

    def data_version(self) -> int:
        """A number that changes only when another store or process has committed to the file: cheap to poll."""
        return self._connection.data_version()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All calls inside are one transaction: they are kept together or not at all (and many small writes cost one)."""
        with self._connection.write():
            yield

    def backup(self, target: Path) -> None:
        """Write a consistent copy to ``target`` while others work; an existing file is refused."""
        self._connection.backup(target)
