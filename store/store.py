"""The store as everybody uses it: one SQLite file behind one object. It only opens transactions and hands them to the module of each noun.

Thread-safe: calls take turns on one connection. Threads or processes that must not wait for each other open a store each.
Every method may raise StoreError (locked, full, newer, gone); nothing of a failed call is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from store import blobs, buckets, changes, events, filters, findings, labels, merging, pruning, reductions, runs, schema, states, undo
from store.connect import BUSY_SECONDS, Connection
from store.errors import StoreError
from store.records import JSON, Program, Signature, State, Verdict
from store.rows import BucketRow, Event, FindingRow, Merged, Pruned, Run
from store.with_campaigns import WithCampaigns
from store.with_jobs import WithJobs

WORKER = "work"
"""The actor of what happens by itself."""


def open_store(path: Path | str, *, readonly: bool = False, timeout: float = BUSY_SECONDS) -> Store:
    """Open the store at ``path``; without ``readonly`` a missing one is created and an older one migrated.

    ``timeout``: seconds to wait for another process's transaction. Raises StoreError with what to do when it cannot be used.
    """
    connection = Connection(Path(path), readonly=readonly, timeout=timeout)
    try:
        schema.prepare(connection)
    except BaseException:
        connection.close()
        raise
    return Store(connection)


class Store(WithJobs, WithCampaigns):
    """Findings, their history, the jobs about them, and what campaigns counted. Use as a context manager, or ``close``."""

    # findings

    def add_finding(
        self,
        program: Program,
        verdict: Verdict,
        *,
        signature: Signature,
        origin: str,
        seed_name: str | None = None,
        characteristic: str | None = None,
        code: str | None = None,
        mutators: Sequence[str] = (),
        campaign: int | None = None,
    ) -> FindingRow:
        """Keep a finding. The same program under the same configuration is one finding: a repeat raises its ``count`` and ``seen``.

        ``origin``: who found it (``fuzz check import minimize edit``), also the actor of its first event. ``code``: trigger code; by default read
        from the front of ``characteristic`` (``AM-...``). A new finding has ``count == 1``; its bucket is new if ``bucket(id).members == 1``.
        A repeat of a ``fixed`` finding on a torch at least as new makes it ``regressed``.
        """
        found = findings.Found(program, verdict, signature, origin, seed_name, characteristic, code, tuple(mutators), campaign)
        with self._connection.write() as c:
            return findings.add(c, found)

    def finding(self, finding_id: int) -> FindingRow:
        """One finding; NotFoundError if there is none of that id or it is deleted."""
        with self._connection.read() as c:
            return findings.get(c, finding_id)

    def uid(self, finding_id: int) -> str:
        """The number-free name of a finding, also of a deleted one; NotFoundError if there is none."""
        with self._connection.read() as c:
            return str(changes.current(c, [finding_id], ("uid",), deleted=True)[0]["uid"])

    def known(self, uid: str) -> bool:
        """Whether there is a finding of this ``uid`` (``findings.uid_of``), also a deleted one."""
        with self._connection.read() as c:
            return c.execute("SELECT 1 FROM findings WHERE uid = ?", (uid,)).fetchone() is not None

    def find(self, query: str = "", *, limit: int | None = None, offset: int = 0, order: str = "-id") -> list[FindingRow]:
        """Findings that match the filter ``query`` (``store.query``), newest first.

        ``order``: one of ``filters.ORDERS``, ``-`` in front for descending. For long lists take ``ids`` and then ``rows`` of what is shown.
        """
        with self._connection.read() as c:
            return findings.rows(c, filters.ids(c, query, order=order, limit=limit, offset=offset))

    def rows(self, ids: Sequence[int]) -> list[FindingRow]:
        """These findings in this order; ids that are gone are left out."""
        with self._connection.read() as c:
            return findings.rows(c, ids)

    def ids(self, query: str = "", order: str = "-id") -> list[int]:
        """Ids of the findings that match, in order: the cheap way to hold 100,000."""
        with self._connection.read() as c:
            return filters.ids(c, query, order=order)

    def count(self, query: str = "") -> int:
        """How many findings match."""
        with self._connection.read() as c:
            return filters.count(c, query)

    def tally(self, by: str, query: str = "") -> dict[str, int]:
        """How many matching findings per value of ``by`` (one of ``filters.TALLIES``: state, stage, symptom, code, op, label ...), largest first."""
        with self._connection.read() as c:
            return filters.tally(c, by, query)

    def program(self, finding_id: int) -> Program:
        """The program as it was found, with its configuration; its name is ``finding:ID``."""
        with self._connection.read() as c:
            return findings.program(c, finding_id)

    def reduced(self, finding_id: int) -> Program | None:
        """The smallest program kept so far, or None before the first reduction."""
        with self._connection.read() as c:
            return findings.reduced(c, finding_id)

    def verdict(self, finding_id: int) -> Verdict:
        """The verdict on the program as it was found."""
        with self._connection.read() as c:
            return findings.verdict(c, finding_id)

    def reduced_verdict(self, finding_id: int) -> Verdict | None:
        """The verdict on the reduced program."""
        with self._connection.read() as c:
            return findings.reduced_verdict(c, finding_id)

    def text(self, sha: str) -> str | None:
        """A kept text by its sha256, or None."""
        with self._connection.read() as c:
            return blobs.text(c, sha)

    # triage: every call is one undo step of its actor

    def set_state(
        self, ids: Sequence[int], state: State, *, actor: str, why: str = "", duplicate_of: int | None = None, torch: str = ""
    ) -> list[int]:
        """Move findings to ``state``; returns those that changed. All or none: a move that ``states`` forbids raises WorkbenchError.

        ``duplicate_of`` goes with ``State.DUPLICATE`` and only with it; ``torch``: the version that shows it fixed, with ``State.FIXED``.
        """
        with self._connection.write() as c:
            return states.set_state(c, ids, state, actor=actor, why=why, duplicate_of=duplicate_of, torch=torch)

    def label(self, ids: Sequence[int], add: Sequence[str] = (), remove: Sequence[str] = (), *, actor: str, why: str = "") -> list[int]:
        """Put labels on and take labels off; returns the findings that changed."""
        with self._connection.write() as c:
            return labels.label(c, ids, add, remove, actor=actor, why=why)

    def assign(self, ids: Sequence[int], assignee: str, *, actor: str, why: str = "") -> list[int]:
        """Give findings to a person; an empty name gives them to nobody. Returns those that changed."""
        with self._connection.write() as c:
            return findings.assign(c, ids, assignee, actor=actor, why=why)

    def rename(self, finding_id: int, title: str, *, actor: str, why: str = "") -> list[int]:
        """Give a finding another title."""
        with self._connection.write() as c:
            return findings.rename(c, finding_id, title, actor=actor, why=why)

    def delete(self, ids: Sequence[int], *, actor: str, why: str = "") -> list[int]:
        """Hide findings from everything but undo; their texts stay. Returns those that changed."""
        with self._connection.write() as c:
            return findings.delete(c, ids, actor=actor, why=why)

    def undo(self, actor: str, *, step: int | None = None) -> str:
        """Take back the last step of ``actor`` (or any ``step``); says what was done, empty when there is nothing to undo.

        What somebody else has changed since is left alone and said so. Survives restarts.
        """
        with self._connection.write() as c:
            return undo.undo(c, actor, step)

    def redo(self, actor: str) -> str:
        """Do again what ``actor`` undid last, unless they changed something since; says what was done, empty when nothing."""
        with self._connection.write() as c:
            return undo.redo(c, actor)

    def events(self, finding_id: int | None = None, limit: int | None = 200) -> list[Event]:
        """History of one finding or of all, newest first."""
        with self._connection.read() as c:
            return events.history(c, finding_id, limit)

    # buckets

    def bucket(self, bucket_id: int) -> BucketRow:
        """One bucket with its leader; NotFoundError if there is none."""
        with self._connection.read() as c:
            return buckets.get(c, bucket_id)

    def buckets(self, limit: int | None = None) -> list[BucketRow]:
        """Buckets that have findings, newest first."""
        with self._connection.read() as c:
            return buckets.listed(c, limit)

    def merge_buckets(self, into: int, others: Sequence[int], *, actor: str, why: str = "") -> list[int]:
        """Move the findings of ``others`` into ``into``; later findings of their signatures follow. One undo step; returns what moved."""
        with self._connection.write() as c:
            return buckets.merge(c, into, others, actor=actor, why=why)

    def split(self, ids: Sequence[int], *, actor: str, why: str = "") -> int:
        """Move findings into a bucket of their own; returns its id. One undo step."""
        with self._connection.write() as c:
            return buckets.split(c, ids, actor=actor, why=why)

    def fold(self, bucket_ids: Sequence[int], *, actor: str, why: str = "") -> list[int]:
        """In each bucket, make what is still to be decided a duplicate of its leader. One undo step; returns what changed."""
        with self._connection.write() as c:
            return states.fold(c, bucket_ids, actor=actor, why=why)

    # other stores

    def merge(self, other: Store, *, actor: str, why: str = "") -> Merged:
        """Bring every finding of ``other`` here with its labels, states, history, runs, reduction and bucket. One undo step.

        By content: known findings are counted together, and the later decision holds. Merging the same store again changes nothing.
        """
        if other.path.exists() and other.path.samefile(self.path):
            raise StoreError(f"{other.path} is this store itself", "name another one")
        with other._connection.snapshot() as theirs, self._connection.write() as c:
            return merging.merge(c, theirs, actor=actor, why=why)

    def prune(self, older_than: float, *, dry: bool = False) -> Pruned:
        """Forget for good what was deleted or finished more than ``older_than`` seconds ago, and shrink the file; ``dry``: only say what.

        Deleted findings go with their history (undo brings them back no more), finished jobs, texts that nothing names, the oracle's memory.
        """
        with self._connection.write(keep=not dry) as c:
            forgotten = pruning.forget(c, older_than)
        return forgotten if dry else replace(forgotten, bytes=self._connection.shrink())

    # what the oracle and the reducer add

    def save_verified(self, finding_id: int, same: int, of: int, *, actor: str = WORKER) -> FindingRow:
        """``same`` of ``of`` cold runs showed the mismatch: a new finding becomes confirmed (3 of 3) or flaky (some or all did not)."""
        with self._connection.write() as c:
            states.verified(c, finding_id, same, of, actor=actor)
            return findings.get(c, finding_id)

    def add_run(self, finding_id: int, verdict: Verdict, *, purpose: str) -> int:
        """Keep one more verdict about a finding (``recheck grid ladder gates``); a fixed finding seen again becomes regressed."""
        with self._connection.write() as c:
            return runs.add(c, finding_id, verdict, purpose)

    def runs(self, finding_id: int, purpose: str | None = None) -> list[Run]:
        """The further judgements of a finding, newest first."""
        with self._connection.read() as c:
            return runs.listed(c, finding_id, purpose)

    def run_verdict(self, run_id: int) -> Verdict:
        """The whole verdict of one run."""
        with self._connection.read() as c:
            return runs.verdict(c, run_id)

    def save_reduction(
        self,
        finding_id: int,
        program: Program,
        verdict: Verdict,
        signature: Signature,
        statistics: Mapping[str, JSON],
        *,
        final: bool,
        actor: str = WORKER,
    ) -> FindingRow:
        """Keep a smaller program of the same bug. ``final``: the reduction is done, and the finding moves to its signature's bucket.

        Moving is in the history and can be undone (``undo(actor)`` or ``undo(anyone, step=...)``). See ``store.buckets`` for who moves along.
        """
        result = reductions.Result(program, verdict, signature, statistics, final=final)
        with self._connection.write() as c:
            reductions.save(c, finding_id, result, actor=actor)
            return findings.get(c, finding_id)

    def save_progress(self, finding_id: int, progress: Mapping[str, JSON]) -> None:
        """Replace what a running reduction needs to go on after it was killed, and what a screen shows of it."""
        with self._connection.write() as c:
            reductions.save_progress(c, finding_id, progress)

    def progress(self, finding_id: int) -> dict[str, JSON] | None:
        """What ``save_progress`` kept last, or None."""
        with self._connection.read() as c:
            return reductions.progress(c, finding_id)

    def statistics(self, finding_id: int) -> dict[str, JSON] | None:
        """What the last ``save_reduction`` counted, or None."""
        with self._connection.read() as c:
            return reductions.statistics(c, finding_id)
