"""Reading the store for the bucket view, the work view, the tabs and completion. Functions of an open store, run in threads by ``Source``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from store import Store
from store.records import JSON
from store.rows import JobKind, JobState
from workbench.errors import NotFoundError, WorkbenchError
from workbench.triage.detached import last_lines
from workbench.triage.messages import BucketDetail, BucketsLoaded, WorkDetail

MEMBERS = 500
"""Members shown of one bucket."""

ENDED = 20
CAMPAIGNS = 50
WORDS = 2000
"""Words kept for completion, the commonest first."""


def buckets(store: Store, query: str) -> BucketsLoaded:
    """Buckets of the findings that match; a filter that cannot be read shows them all."""
    try:
        counts = {int(name): number for name, number in store.tally("bucket", query).items()}
    except WorkbenchError:
        query, counts = "", {int(name): number for name, number in store.tally("bucket").items()}
    return BucketsLoaded(query, [b for b in store.buckets() if b.id in counts], counts)


def bucket(store: Store, number: int) -> BucketDetail | None:
    """One bucket, or None when it is gone."""
    try:
        row = store.bucket(number)
    except NotFoundError:
        return None
    ids = store.ids(f"bucket:{number}", "size")
    ordered = [i for i in ids if i == row.leader] + [i for i in ids if i != row.leader]
    members = store.rows(ordered[:MEMBERS])
    leader = next((m for m in members if m.id == row.leader), None)
    verdict = (store.reduced_verdict(leader.id) or store.verdict(leader.id)) if leader else None
    moved = tuple(m.id for m in members if m.signature not in row.keys)
    return BucketDetail(row, leader, verdict, tuple(members), moved)


def work(store: Store, path: Path) -> WorkDetail:
    """What is done now."""
    running = store.jobs(JobState.RUNNING)
    ended = [*store.jobs(JobState.DONE, ENDED), *store.jobs(JobState.FAILED, ENDED)]
    reducing = [j.finding_id for j in running if j.kind is JobKind.REDUCE and j.finding_id is not None]
    return WorkDetail(
        workers=tuple(store.workers()),
        running=tuple(running),
        queued=Counter(job.kind.value for job in store.jobs(JobState.QUEUED)),
        ended=tuple(sorted(ended, key=lambda j: j.finished or "", reverse=True)[:ENDED]),
        reductions={i: _sizes(store.progress(i) or {}) for i in reducing},
        campaigns=tuple(store.campaigns(CAMPAIGNS)),
        logs=last_lines(path),
    )


def _sizes(progress: Mapping[str, JSON]) -> dict[str, JSON]:
    """The numbers of a reduction's progress, wherever they stand in it."""
    found: dict[str, JSON] = {}
    for key, value in progress.items():
        if isinstance(value, Mapping):
            found |= _sizes(value)
        elif key in ("statements", "calls", "compiles") and isinstance(value, int):
            found[key] = value
    return found


def tab_counts(store: Store, tabs: Mapping[str, str]) -> dict[str, int | None]:
    """How many findings each filter shows; None for one that cannot be read."""
    counts: dict[str, int | None] = {}
    for name, query in tabs.items():
        try:
            counts[name] = store.count(query)
        except WorkbenchError:
            counts[name] = None
    return counts


def words(store: Store) -> dict[str, Sequence[str]]:
    """Words in use of each key that has no closed set of them, the commonest first."""
    found = {key: [w for w in store.tally(key) if w != "none"][:WORDS] for key in ("label", "op", "dtype", "backend", "torch")}
    found["label"] = [f'"{w}"' if " " in w else w for w in found["label"]]
    found["who"] = [f'"{w}"' if " " in w else w for w in store.tally("who") if w not in ("", "none")]
    return {key: [w for w in known if w] for key, known in found.items()}
