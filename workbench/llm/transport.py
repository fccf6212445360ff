"""The HTTP client under ``openai``: no redirects, no endless bodies, what the environment says about proxies.

A redirect would send prompts, and over http the key, to a host that nobody named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.llm.endpoint import Endpoint
from workbench.llm.errors import LLMError

if TYPE_CHECKING:
    import httpx2

LARGEST = 4 << 20
"""Bytes of a reply; an answer of the longest program is a tenth of it."""
LARGEST_PACKED = 128 << 10
"""Of a compressed one, though none is asked for: it may grow a thousandfold."""
CONNECT = 10.0
"""Seconds until a connection must stand."""


def http_client(endpoint: Endpoint) -> httpx2.Client:
    """A client for one endpoint. LLMError says what in the environment (proxies, certificates) is in the way."""
    import httpx2

    def bounded(response: httpx2.Response) -> None:
        packed = response.headers.get("content-encoding", "identity") != "identity"
        stream = response.stream
        assert isinstance(stream, httpx2.SyncByteStream)
        response.stream = _bounded(stream, LARGEST_PACKED if packed else LARGEST, endpoint.host)

    try:
        return httpx2.Client(
            timeout=httpx2.Timeout(endpoint.timeout, connect=min(CONNECT, endpoint.timeout)),
            headers={"accept-encoding": "identity"},
            follow_redirects=False,
            trust_env=not endpoint.local,
            event_hooks={"response": [bounded]},
        )
    except Exception as error:  # ValueError, ImportError, OSError: whatever a proxy's address or a file of certificates brings about
        raise LLMError(
            "address",
            f"LLM endpoint {endpoint.host} cannot be asked: {type(error).__name__}: {error}",
            "look at HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE, SSL_CERT_DIR",
        ) from None


def _bounded(stream: httpx2.SyncByteStream, most: int, host: str) -> httpx2.SyncByteStream:
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for part in stream:
                size += len(part)
                if size > most:
                    raise LLMError(
                        "malformed",
                        f"LLM endpoint {host} sent something else than an answer: more than {most >> 10} KB",
                        "is it OpenAI-compatible? OPENAI_BASE_URL usually ends in /v1",
                    )
                yield part

        def close(self) -> None:
            stream.close()

    return Bounded()
