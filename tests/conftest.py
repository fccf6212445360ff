"""What all tests share: one pool of servers for the whole session, since starting a server takes seconds; no clock decides a property test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from workbench.servers import Pool

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """A pool of up to two servers of this interpreter; the second starts only when two runs meet."""
    with Pool(jobs=2) as pool:
        yield pool
