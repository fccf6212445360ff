"""A runner that also notes what compiling did, as a set of small words: two programs that give no new word exercised nothing new."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from store.records import JSON
from workbench.fuzz.tracing import Runner
from workbench.runner.protocol import Request
from workbench.servers import Run


@dataclass(slots=True)
class Watched:
    """Passes requests on; ``taken`` hands out the behaviour seen since the last call in this thread."""

    runner: Runner
    _seen: threading.local = field(default_factory=threading.local)

    def run(self, request: Request) -> Run:
        run = self.runner.run(request)
        if request.backend is not None and run.document is not None:
            self._words().update(behaviour(run.document))
        return run

    def taken(self) -> frozenset[str]:
        words = frozenset(self._words())
        self._seen.words = set()
        return words

    def _words(self) -> set[str]:
        if not hasattr(self._seen, "words"):
            self._seen.words = set()
        words: set[str] = self._seen.words
        return words


def behaviour(document: dict[str, JSON]) -> set[str]:
    """Counters of Dynamo and Inductor, coarse: which fired, and how often as a power of two."""
    facts = document.get("facts") or {}
    words = {f"graphs:{int(facts.get('graphs') or 0).bit_length()}", f"breaks:{int(facts.get('graph_breaks') or 0).bit_length()}"}
    for group, counted in (facts.get("counters") or {}).items():
        words.update(f"{group}.{name}:{int(count).bit_length()}" for name, count in counted.items())
    return words
