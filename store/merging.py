"""Everything of another store brought into this one, by content: findings, texts, history, runs, buckets, campaigns.

Nothing is lost and nothing is counted twice: a finding is known by the hash of program and configuration, an event by what it says, and
importing the same store again changes nothing. Where two people decided differently, the later decision holds and both stand in the history.
The other store is only read. All of it is one undo step of who imports.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace

from store import blobs, changes, edits, labels, leaders, reductions, search, sightings, times
from store.decisions import IMPORTED, identity, newest, plain_why
from store.events import Step, as_event, new_step
from store.kinship import Kinship
from store.records import JSON, Program, Signature, State, Verdict, canonical
from store.rows import Merged, Reduction


def merge(c: sqlite3.Connection, other: sqlite3.Connection, *, actor: str, why: str) -> Merged:
    """Bring ``other`` into ``c``; both are in a transaction."""
    return _Merge(c, other, new_step(c, actor, why)).run()


class _Merge:
    """One import. ``_ids``: their finding's number to ours; ``_steps``: their step's to ours."""

    def __init__(self, c: sqlite3.Connection, other: sqlite3.Connection, step: Step) -> None:
        self._c, self._other, self._step = c, other, step
        self._kin = Kinship(c, other)
        self._done = Merged()
        self._ids: dict[int, int] = {}
        self._new: set[int] = set()
        self._steps: dict[int, int] = {}
        self._touched: set[int] = set()
        self._mine, self._theirs = sightings.identity(c), sightings.identity(other)
        self._columns = [row[1] for row in c.execute("PRAGMA table_info(findings)") if row[1] != "id"]

    def run(self) -> Merged:
        campaigns = self._campaigns()
        rows = self._other.execute("SELECT * FROM findings ORDER BY id").fetchall()
        for row in rows:
            known = self._c.execute("SELECT id FROM findings WHERE uid = ?", (row["uid"],)).fetchone()
            self._ids[row["id"]] = int(known[0]) if known else self._insert(row, campaigns)
            if known:
                self._count("known")
        for row in rows:
            self._follow(row)
        moved = self._kin.merge_buckets(self._step)
        leaders.refresh(self._c, self._touched | moved)
        calls, jobs = self._left()
        return replace(self._done, buckets=self._kin.made, left_calls=calls, left_jobs=jobs)

    def _count(self, what: str) -> None:
        self._done = replace(self._done, **{what: getattr(self._done, what) + 1})

    # findings

    def _insert(self, row: sqlite3.Row, campaigns: Mapping[int, int]) -> int:
        """A finding that is not here yet, with its terms, labels and reduction."""
        signature_id, bucket_id = self._kin.place(row)
        values = {name: row[name] for name in self._columns}
        values |= {
            "signature_id": signature_id,
            "bucket_id": bucket_id,
            "campaign_id": campaigns.get(row["campaign_id"]),
            "duplicate_of": None,
            "count": 0,  # until ``sightings.merge`` adds it up
            **{name: self._blob(row[name]) for name in ("program_id", "verdict_id", "reduced_id", "reduced_verdict_id")},
        }
        if values["reduction"] in (Reduction.QUEUED, Reduction.RUNNING):
            values["reduction"] = Reduction.NONE.value  # their queue is not ours
        marks = ", ".join("?" * len(values))
        cursor = self._c.execute(f"INSERT INTO findings ({', '.join(values)}) VALUES ({marks})", list(values.values()))
        finding_id = int(cursor.lastrowid or 0)
        for table, column in (("finding_labels", "label"), ("finding_symptoms", "symptom"), ("finding_ops", "op")):
            terms = self._other.execute(f"SELECT {column} FROM {table} WHERE finding_id = ?", (row["id"],)).fetchall()
            self._c.executemany(f"INSERT INTO {table} ({column}, finding_id) VALUES (?, ?)", [(t[0], finding_id) for t in terms])
        for kept in self._other.execute("SELECT progress, statistics, updated FROM reductions WHERE finding_id = ?", (row["id"],)):
            self._c.execute("INSERT INTO reductions (finding_id, progress, statistics, updated) VALUES (?, ?, ?, ?)", (finding_id, *kept))
        search.index(self._c, finding_id)
        self._touched.add(bucket_id)
        self._new.add(finding_id)
        if row["deleted"] is None:
            self._count("new")
            self._step.record(self._c, IMPORTED, finding_id, {"deleted": times.now()}, {"deleted": None})
        return finding_id

    def _follow(self, row: sqlite3.Row) -> None:
        """History, runs and count of a finding that is here now, and what follows from them."""
        finding_id = self._ids[row["id"]]
        self._events(row["id"], finding_id)
        self._runs(row["id"], finding_id)
        self._gates(row["id"], finding_id)
        sightings.merge(self._c, self._other, finding_id, row["id"], self._mine, self._theirs)
        if finding_id in self._new:
            self._link(row, finding_id)
            return
        here = self._c.execute("SELECT deleted, created, seen, torch, torch_key FROM findings WHERE id = ?", (finding_id,)).fetchone()
        if here["deleted"] is not None and row["deleted"] is None:
            self._count("deleted")
        newer = row if row["torch_key"] > here["torch_key"] else here
        self._c.execute(
            "UPDATE findings SET created = ?, seen = ?, torch = ?, torch_key = ? WHERE id = ?",
            (min(row["created"], here["created"]), max(row["seen"], here["seen"]), newer["torch"], newer["torch_key"], finding_id),
        )
        self._adopt_reduction(row, finding_id)
        self._decide(finding_id)

    def _link(self, row: sqlite3.Row, finding_id: int) -> None:
        """What a new duplicate repeats, once all findings are here."""
        if row["duplicate_of"] is not None:
            self._c.execute("UPDATE findings SET duplicate_of = ? WHERE id = ?", (self._ids[row["duplicate_of"]], finding_id))

    def _decide(self, finding_id: int) -> None:
        """Bring a known finding in line with the newest decisions of both histories."""
        c = self._c
        decided = newest(as_event(e) for e in c.execute("SELECT * FROM events WHERE finding_id = ?", (finding_id,)))
        row = c.execute("SELECT * FROM findings WHERE id = ?", (finding_id,)).fetchone()
        after = {name: value for name, value in decided.columns.items() if row[name] != value}
        if after.get("duplicate_of") is not None and self._circular(finding_id, after["duplicate_of"]):
            said = f"findings {finding_id} and {after['duplicate_of']} are each called a duplicate of the other"
            self._done = replace(self._done, conflicts=(*self._done.conflicts, said))
            after = {name: value for name, value in after.items() if name not in ("state", "duplicate_of")}
        if after.get("state", row["state"]) == State.DUPLICATE and after.get("duplicate_of", row["duplicate_of"]) is None:
            after = {name: value for name, value in after.items() if name not in ("state", "duplicate_of")}
        if after:
            changes.put(c, self._step, IMPORTED, finding_id, {name: row[name] for name in after}, after)
            changes.settle(c, [finding_id], after)
        have = set(json.loads(row["labels"]))
        on = {label for label, wanted in decided.labels.items() if wanted} - have
        off = {label for label, wanted in decided.labels.items() if not wanted} & have
        labelled = labels.put(c, self._step, finding_id, on, off, kind=IMPORTED)
        if after or labelled:
            self._count("changed")

    def _circular(self, finding_id: int, target: int) -> bool:
        seen = {finding_id}
        following: int | None = target
        while following is not None:
            if following in seen:
                return True
            seen.add(following)
            following = self._c.execute("SELECT duplicate_of FROM findings WHERE id = ?", (following,)).fetchone()[0]
        return False

    def _adopt_reduction(self, row: sqlite3.Row, finding_id: int) -> None:
        """Their reduced program, where ours is not reduced yet."""
        here = self._c.execute("SELECT reduction FROM findings WHERE id = ?", (finding_id,)).fetchone()
        if row["reduction"] != Reduction.DONE or here["reduction"] == Reduction.DONE or row["reduced_id"] is None:
            return
        verdict = Verdict.from_json(json.loads(blobs.get(self._other, row["reduced_verdict_id"])))
        kept = self._other.execute("SELECT statistics FROM reductions WHERE finding_id = ?", (row["id"],)).fetchone()
        told = self._other.execute("SELECT text, final FROM signatures WHERE id = ?", (row["signature_id"],)).fetchone()
        program = Program(blobs.get(self._other, row["reduced_id"]), verdict.configuration)
        result = reductions.Result(
            program, verdict, Signature.from_text(told["text"], final=True), json.loads(kept[0]) if kept and kept[0] else {}, final=True
        )
        reductions.save(self._c, finding_id, result, actor=self._step.actor)
        self._count("reduced")

    # history, runs and gates

    def _events(self, theirs: int, ours: int) -> None:
        known = {identity(as_event(e)) for e in self._c.execute("SELECT * FROM events WHERE finding_id = ?", (ours,))}
        for event in map(as_event, self._other.execute("SELECT * FROM events WHERE finding_id = ? ORDER BY id", (theirs,)).fetchall()):
            if (event.kind == IMPORTED and event.undoes is None) or identity(event) in known:
                continue
            self._c.execute(
                """INSERT INTO events (step, at, actor, finding_id, kind, before, after, why, undoable, undoes)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)""",
                (
                    self._step_of(event.step), event.at, event.actor, ours, event.kind, canonical(self._here(event.before)),
                    canonical(self._here(event.after)), plain_why(event.why), None if event.undoes is None else 0,
                ),
            )  # fmt: skip
            self._count("events")

    def _step_of(self, theirs: int) -> int:
        """Steps of theirs get numbers after ours; nothing here undoes or redoes them."""
        return self._steps.setdefault(theirs, self._step.number + 1 + len(self._steps))

    def _here(self, values: Mapping[str, JSON]) -> dict[str, JSON]:
        """An event's values with their numbers put into ours; one that means nothing here is left out."""
        told = dict(values)
        for name in ("duplicate_of", edits.INTO, edits.FROM):
            if told.get(name) is not None:
                told[name] = self._ids.get(told[name])
        told.pop(edits.JOB, None)
        if "bucket_id" in told:
            told["bucket_id"] = self._kin.bucket(told["bucket_id"])
        return told

    def _runs(self, theirs: int, ours: int) -> None:
        same = "at, purpose, outcome, configuration, torch"
        known = {tuple(r) for r in self._c.execute(f"SELECT {same} FROM runs WHERE finding_id = ?", (ours,))}
        for run in self._other.execute(
            f"SELECT {same}, seconds, verdict_id FROM runs WHERE finding_id = ? ORDER BY id", (theirs,)
        ).fetchall():
            if tuple(run)[:5] not in known:
                self._c.execute(
                    f"INSERT INTO runs (finding_id, {same}, seconds, verdict_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (ours, *tuple(run)[:6], self._blob(run["verdict_id"])),
                )
                self._count("runs")

    def _gates(self, theirs: int, ours: int) -> None:
        """What their last run of the gates found, so that its draft need not wait for another; a waiting or failed run is none."""
        told = "kind, payload, state, priority, actor, worker, attempts, created, started, finished, result, reason"
        newest_of = "WHERE finding_id = ? AND kind = 'gates' AND state = 'done' ORDER BY finished DESC, id DESC LIMIT 1"
        job = self._other.execute(f"SELECT {told} FROM jobs {newest_of}", (theirs,)).fetchone()
        if job is None:
            return
        same = (ours, job["finished"], job["result"])
        if self._c.execute("SELECT 1 FROM jobs WHERE finding_id = ? AND kind = 'gates' AND finished = ? AND result = ?", same).fetchone():
            return
        marks = ", ".join("?" * len(tuple(job)))
        self._c.execute(f"INSERT INTO jobs (finding_id, {told}) VALUES (?, {marks})", (ours, *job))
        self._count("gates")

    def _left(self) -> tuple[int, int]:
        """What an import does not bring: calls to LLMs that are not here, and jobs that wait or run there."""
        here = {tuple(row) for row in self._c.execute("SELECT at, key FROM llm_calls")}
        calls = sum(tuple(row) not in here for row in self._other.execute("SELECT at, key FROM llm_calls"))
        jobs = self._other.execute("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')").fetchone()[0]
        return calls, int(jobs)

    def _campaigns(self) -> dict[int, int]:
        """Their campaigns, each once; one that runs there is none that runs here."""
        ids: dict[int, int] = {}
        for row in self._other.execute("SELECT * FROM campaigns ORDER BY id").fetchall():
            known = self._c.execute(
                "SELECT id FROM campaigns WHERE started = ? AND settings = ?", (row["started"], row["settings"])
            ).fetchone()
            if known:
                ids[row["id"]] = int(known[0])
                continue
            state = "interrupted" if row["finished"] is None else row["state"]
            values = (state, row["started"], row["updated"], row["finished"] or row["updated"], row["settings"], row["counters"])
            cursor = self._c.execute(
                "INSERT INTO campaigns (state, started, updated, finished, settings, counters) VALUES (?, ?, ?, ?, ?, ?)", values
            )
            ids[row["id"]] = int(cursor.lastrowid or 0)
        return ids

    def _blob(self, blob_id: int | None) -> int | None:
        """Our id of one of their texts, copied as it is."""
        if blob_id is None:
            return None
        row = self._other.execute("SELECT sha, kind, size, data FROM blobs WHERE id = ?", (blob_id,)).fetchone()
        known = self._c.execute("SELECT id FROM blobs WHERE sha = ?", (row["sha"],)).fetchone()
        if known:
            return int(known[0])
        return int(self._c.execute("INSERT INTO blobs (sha, kind, size, data) VALUES (?, ?, ?, ?)", tuple(row)).lastrowid or 0)
