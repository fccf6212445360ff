"""Where an LLM is asked and how: read from the environment and the command line, checked before anything is sent."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from workbench.llm import secret, told
from workbench.llm.errors import LLMError

OPENAI = "https://api.openai.com/v1"
TIMEOUT = 120.0
"""Seconds that an answer may take; a small model on a busy laptop needs about 25 for 100 tokens."""
PRICES = "WORKBENCH_LLM_PRICES"


@dataclass(frozen=True, slots=True)
class Prices:
    """Money for a million tokens: of prompts, of prompts answered from the endpoint's cache, of completions."""

    prompt: float
    cached: float
    completion: float

    def cost(self, prompt: int, cached: int, completion: int) -> float:
        """What one call costs; ``cached`` tokens are part of ``prompt``."""
        return ((prompt - cached) * self.prompt + cached * self.cached + completion * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint. Holds no key; that stays in ``secret``.

    model: as asked for; empty: the only one that the endpoint offers
    """

    url: str
    model: str = ""
    timeout: float = TIMEOUT
    prices: Prices | None = None

    @property
    def host(self) -> str:
        """Host and port, all of the address that is kept or shown."""
        parts = urlsplit(self.url)
        return (parts.hostname or "") + (f":{parts.port}" if parts.port else "")

    @property
    def local(self) -> bool:
        """On this machine: no proxy stands between, and one call at a time is enough."""
        name = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"


def endpoint(model: str | None = None, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint of ``OPENAI_BASE_URL``, ``OPENAI_API_KEY``, ``OPENAI_MODEL`` and ``WORKBENCH_LLM_TIMEOUT``, ``WORKBENCH_LLM_PRICES``.

    LLMError says what is missing or cannot be.
    """
    url = environment.get("OPENAI_BASE_URL", "").strip() or OPENAI
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0 and not re.search(r"\s", url)
    except ValueError:
        usable = False
    if not usable:
        raise LLMError("address", f"OPENAI_BASE_URL={told.line(url)!r} is no address", "for example http://127.0.0.1:8080/v1")
    if parts.query or parts.fragment:  # paths are put behind it; what it holds may be a secret, and is not shown
        raise LLMError(
            "address", "OPENAI_BASE_URL ends in ?... or #..., behind which no path can be put", "for example http://127.0.0.1:8080/v1"
        )
    key = secret.key()
    if not key and parts.hostname == urlsplit(OPENAI).hostname:
        raise LLMError("auth", "OPENAI_API_KEY is not set", "set it, or name another endpoint with OPENAI_BASE_URL, such as a local server")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise LLMError("auth", "OPENAI_API_KEY holds characters that cannot be sent", "copy it again, without spaces and line breaks")
    chosen = (model or environment.get("OPENAI_MODEL", "")).strip()
    return Endpoint(url, chosen, _seconds(environment.get("WORKBENCH_LLM_TIMEOUT", "")), _prices(environment.get(PRICES, "")))


def _seconds(text: str) -> float:
    try:
        seconds = float(text or TIMEOUT)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 86400:
        raise LLMError("address", f"WORKBENCH_LLM_TIMEOUT={text!r} is no number of seconds", "for example 120")
    return seconds


def _prices(text: str) -> Prices | None:
    if not text.strip():
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(0 <= n < 1e6 for n in numbers):
        raise LLMError(
            "address",
            f"{PRICES}={text!r} is not three prices",
            "for a million tokens each: prompt,cached,completion, for example 0.15,0.075,0.60",
        )
    return Prices(*numbers)
