"""Reading somebody's store as it is: also one of an older workbench, which only a writer may bring up to date."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from store import schema
from store.connect import Connection
from store.store import Store, open_store


def is_older(path: Path) -> bool:
    """Whether the store at ``path`` is one that the next writer brings up to date. StoreError as ``open_store``."""
    connection = Connection(path, readonly=True)
    try:
        return schema.is_older(connection)
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
