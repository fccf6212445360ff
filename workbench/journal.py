"""The reducers' Journal over the store: judgements in the oracle's memory, the best program so far in the finding's progress."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence

from reducers.oracle import Candidate, Judgement
from store import Store
from store.records import JSON, canonical
from workbench.oracle.judge import VERSION as ORACLE_VERSION
from workbench.reduction import progress_of

VERSION = 1
"""Counts every change to what a judgement of a candidate means."""


class StoreJournal:
    """Remembers what was judged of one bug on one machine, so that a killed reduction goes on and a second one costs no compile.

    about:   text of the bug and of what the judgements depend on besides the candidate (torch, CPU capability, compiler)
    finding: whose progress is kept; None: only judgements are
    """

    def __init__(self, store: Store, about: Mapping[str, JSON], finding: int | None = None) -> None:
        self._store = store
        self._finding = finding
        self._about = canonical({**about, "oracle": ORACLE_VERSION, "journal": VERSION})
        self._lock = threading.Lock()

    def recall(self, key: str) -> Judgement | None:
        known = self._store.memo_get(self._key("judgement", key))
        return None if known is None else Judgement.from_json(known)

    def record(self, key: str, judgement: Judgement) -> None:
        with self._lock:
            self._store.memo_put(self._key("judgement", key), judgement.to_json())

    def recall_texts(self, key: str) -> Sequence[str] | None:
        known = self._store.memo_get(self._key("texts", key))
        return None if known is None else [str(t) for t in known["texts"]]

    def record_texts(self, key: str, texts: Sequence[str]) -> None:
        with self._lock:
            self._store.memo_put(self._key("texts", key), {"texts": list(texts)})

    def accepted(self, candidate: Candidate, progress: Mapping[str, JSON]) -> None:
        if self._finding is not None:
            with self._lock:
                self._store.save_progress(self._finding, progress_of(candidate, progress))

    def _key(self, what: str, key: str) -> str:
        return what + ":" + hashlib.sha256(f"{self._about}\n{key}".encode()).hexdigest()
