"""Reading somebody's store as it is: also one of an older workbench, which only a writer may bring up to date."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from store import campaigns, schema, times
from store.connect import Connection
from store.errors import StoreError
from store.store import Store, open_store


def is_older(path: Path) -> bool:
    """Whether the store at ``path`` is one that the next writer brings up to date. StoreError as ``open_store``."""
    connection = Connection(path, readonly=True)
    try:
        return schema.is_older(connection)
    finally:
        connection.close()


def upgrade(path: Path) -> None:
    """Bring the store at ``path`` up to date where it is an older one that may be written. StoreError as ``open_store``.

    Not while a campaign or a worker of the older workbench is at it: what it does next would be refused.
    """
    if not path.exists() or not path.stat().st_size or not os.access(path, os.W_OK) or not is_older(path):
        return
    if _in_use(path):
        raise StoreError(f"{path} is of an older workbench that is at work on it", "stop its campaign or wait for it; then it is upgraded")
    open_store(path).close()


def _in_use(path: Path) -> bool:
    connection = Connection(path, readonly=True)
    try:
        with connection.read() as c:
            campaign = c.execute(
                "SELECT 1 FROM campaigns WHERE state IN ('running', 'stopping') AND updated >= ?", (times.now(-campaigns.SILENT_SECONDS),)
            ).fetchone()
            return bool(campaign or c.execute("SELECT 1 FROM workers WHERE lease_until > ?", (times.now(),)).fetchone())
    finally:
        connection.close()


@contextmanager
def readable(path: Path) -> Iterator[Store]:
    """The store at ``path`` for reading; an older one by way of a copy, for the file itself stays untouched. StoreError as ``open_store``."""
    connection = Connection(path, readonly=True)
    try:
        old = schema.is_older(connection)
        if not old:
            schema.prepare(connection)
    except BaseException:
        connection.close()
        raise
    if not old:
        with Store(connection) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        copy = Path(folder) / path.name
        try:
            connection.backup(copy)
        finally:
            connection.close()
        with open_store(copy) as store:
            yield store
