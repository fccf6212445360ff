"""A key that must show up nowhere, and an environment without anybody's endpoint."""

import pytest

from workbench.llm import secret

KEY = "sk-canary-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch):
    """No test reaches an endpoint that the person who runs it has configured."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "WORKBENCH_LLM_TIMEOUT", "WORKBENCH_LLM_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(secret, "_taken", [])


@pytest.fixture
def key(monkeypatch):
    """The canary, hidden as the command line hides it."""
    monkeypatch.setattr(secret, "_taken", [KEY])
    return KEY
