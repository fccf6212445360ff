"""One connection to the SQLite file: how it is opened, how everything is written, and which sentence each failure becomes.

Every write goes through ``Connection.write``: BEGIN IMMEDIATE, because a transaction that reads first and writes later fails at once beside
other writers, whatever the timeout (6384 of 8000 did, with four of them).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from store.errors import StoreError

BUSY_SECONDS = 30.0
"""How long a transaction waits for another process's."""


class Connection:
    """A thread-safe SQLite connection: calls take turns, writes are transactions, errors are StoreErrors."""

    def __init__(self, path: Path, *, readonly: bool, timeout: float = BUSY_SECONDS) -> None:
        self.path = path
        self.readonly = readonly
        self.version = 0
        self._lock = threading.RLock()
        self._closed = False
        self._timeout = timeout
        _check_place(path, readonly=readonly)
        with self.explained():
            self._raw = self._open()
            self._identity = _identity(path)

    def _open(self) -> sqlite3.Connection:
        mode = "ro" if self.readonly else "rwc"
        if self.readonly and not os.access(self.path.parent, os.W_OK) and not _beside(self.path, "-wal").exists():
            mode = "ro&immutable=1"  # WAL wants to write beside the file; where nobody can, nobody else changes it either
        location = f"file:{quote(str(self.path.absolute()))}?mode={mode}"
        raw = sqlite3.connect(location, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False)
        try:
            raw.row_factory = sqlite3.Row
            raw.execute("PRAGMA foreign_keys = ON")
            raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
            raw.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            raw.close()
            raise
        return raw

    def use_wal(self) -> None:
        """Let readers and a writer work at once. Only after the file is known to be ours, for it changes the file."""
        give_up = time.monotonic() + self._timeout
        with self._lock, self.explained():
            while self._raw.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                try:
                    self._raw.execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError:  # SQLite does not wait by itself for this one
                    if time.monotonic() > give_up:
                        raise
                    time.sleep(0.02)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """The connection for reading. Several statements see one state of the file only inside ``write``."""
        with self._lock, self.explained():
            self._check_open()
            yield self._raw

    @contextmanager
    def write(self, *, migrating: bool = False, keep: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: kept whole when the block ends, gone whole when it raises. Blocks may nest; the outermost decides.

        ``keep=False``: gone in any case, to see what would be.
        """
        with self._lock, self.explained():
            self._check_open()
            if self._raw.in_transaction:
                yield self._raw
                return
            self._check_same_file()
            self._raw.execute("BEGIN IMMEDIATE")
            try:
                if not migrating:
                    self._check_version()
                yield self._raw
                self._raw.execute("COMMIT" if keep else "ROLLBACK")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has ended the transaction already
                    self._raw.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """The connection for reading several statements that all see one state of the file."""
        with self.read() as c:
            c.execute("BEGIN")
            try:
                yield c
            finally:
                c.execute("ROLLBACK")

    def data_version(self) -> int:
        """Changes only when another connection has committed."""
        with self.read() as c:
            return int(c.execute("PRAGMA data_version").fetchone()[0])

    def backup(self, target: Path) -> None:
        """Write a consistent copy to a new file."""
        if target.exists():
            raise StoreError(f"{target} exists already", "name a file that does not exist yet")
        _check_place(target, readonly=False)
        try:
            with self.read() as c:
                c.execute("VACUUM INTO ?", (str(target),))
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def shrink(self) -> int:
        """Give the space of what was forgotten back to the disk; by how many bytes the file shrank."""
        before = self.path.stat().st_size
        with self._lock, self.explained():
            self._check_same_file()
            self._raw.execute("VACUUM")
            self._raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self.path.stat().st_size)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._closed = True
            self._raw.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """SQLite's errors about the file become StoreErrors; errors in our own SQL stay what they are."""
        try:
            yield
        except sqlite3.Error as error:
            explanation = _explanation(error, self.path, self._timeout)
            if explanation is None:
                raise
            raise explanation from error

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path}: this store was closed", "open it again")

    def _check_same_file(self) -> None:
        """SQLite would go on writing into a deleted file, and everything would be lost in silence."""
        if self.readonly:
            raise StoreError(f"{self.path} was opened for reading only", "open it for writing")
        if _identity(self.path) != self._identity:
            raise StoreError(
                f"{self.path} was deleted or replaced while in use", "start again; what was kept before went with the old file"
            )

    def _check_version(self) -> None:
        version = self._raw.execute("PRAGMA user_version").fetchone()[0]
        if self.version and version != self.version:
            raise StoreError(f"{self.path} was upgraded by a newer workbench while in use", "start again with that version")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _check_place(path: Path, *, readonly: bool) -> None:
    """What SQLite would say less clearly about a path, or not at all."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store", "name a file, for instance workbench.db in it")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: its folder does not exist", "create the folder, or name another file with --db")
    if path.exists():
        if not os.access(path, os.R_OK):
            raise StoreError(f"{path} may not be read by you", "ask its owner, or name another file with --db")
        if not readonly and not os.access(path, os.W_OK):
            raise StoreError(f"{path} is read-only", "make it writable (chmod u+w), or work on a copy named with --db")
    elif readonly:
        raise StoreError(
            f"{path}: no store there yet", "`workbench fuzz` or `workbench check --save` begins one; or name another file with --db"
        )
    if not readonly and not os.access(path.parent, os.W_OK):
        raise StoreError(f"{path.parent} is a read-only folder", "SQLite writes beside its file; name a file elsewhere with --db")


def _explanation(error: sqlite3.Error, path: Path, timeout: float) -> StoreError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"{path} is locked by another process (waited {timeout:g} s)", "end the process that holds it, then try again"
            )
        case sqlite3.SQLITE_FULL:
            return StoreError(f"{path}: the disk is full; this change was not kept", "free some space; everything kept before is safe")
        case sqlite3.SQLITE_READONLY:
            return StoreError(f"{path} is read-only", "make file and folder writable, or name another file with --db")
        case sqlite3.SQLITE_NOTADB:
            return StoreError(f"{path} is no SQLite database", "name another file with --db; this one was not touched")
        case sqlite3.SQLITE_CORRUPT:
            return StoreError(f"{path} is damaged", "go back to a backup, or save what is left with `sqlite3 FILE .recover`")
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreError(f"{path} cannot be opened", "look at its permissions and its folder's, or name another file with --db")
        case sqlite3.SQLITE_IOERR:
            return StoreError(f"{path}: reading or writing failed ({error})", "look at the disk; network file systems do not serve")
    return None
