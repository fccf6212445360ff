"""The graph route: the program as straight-line code below Dynamo, then the shortest slice of it that still shows the bug."""

from __future__ import annotations

from reducers.search import Search


def flattened(search: Search) -> bool:
    """Try what the oracle's ``flatten`` gives for the best program; True when a flat text was accepted."""
    key = search.best.key
    texts = search.journal.recall_texts(key)
    if texts is None:
        search.progress.current = "flatten"
        texts = tuple(search.oracle.flatten(search.best))
        search.progress.calls += 1
        search.journal.record_texts(key, texts)
    return search.offer("flatten", *texts)
