"""What all tests share: one pool of servers for the whole session, since starting a server takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.servers import Pool


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """A pool of up to two servers of this interpreter; the second starts only when two runs meet."""
    with Pool(jobs=2) as pool:
        yield pool
