"""Findings: kept once each, read back as rows, programs and verdicts."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from store import blobs, buckets, changes, leaders, outline, search, states, times, versions
from store.errors import WorkbenchError
from store.events import new_step
from store.labels import NOBODY
from store.records import Configuration, Program, Signature, Stage, State, Symptom, Verdict, canonical
from store.rows import FindingRow, Reduction
from store.titles import GENERATED, LONGEST, title_of

_CODE = re.compile(r"(NT|PO|AM|BV|OS|SR|MD|LC|EN)(?![a-z0-9])", re.IGNORECASE)
_CHUNK = 500
_SELECT = """
    SELECT f.*, s.text AS signature, s.final AS final, p.sha AS program_sha, r.sha AS reduced_sha,
        (SELECT e.why FROM events e WHERE e.finding_id = f.id AND e.kind = 'title' AND e.undoes IS NULL
            AND json_extract(e.after, '$.title') = f.title ORDER BY e.id DESC LIMIT 1) AS titled
    FROM findings f JOIN signatures s ON s.id = f.signature_id JOIN blobs p ON p.id = f.program_id LEFT JOIN blobs r ON r.id = f.reduced_id
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding on its way into the store."""

    program: Program
    verdict: Verdict
    signature: Signature
    origin: str
    seed: str | None
    characteristic: str | None
    code: str | None
    mutators: tuple[str, ...]
    campaign: int | None

    @property
    def uid(self) -> str:
        """The same in every store: hash of the program and of what its configuration changes."""
        return uid_of(self.program)

    @property
    def trigger(self) -> str:
        """The trigger code, given or read from the front of the characteristic's id."""
        if self.code is None:
            match = _CODE.match(self.characteristic or "")
            return match[1].upper() if match else ""
        return self.code.upper()


def uid_of(program: Program) -> str:
    """The number-free name of a finding with this program: hash of its source and of what its configuration changes."""
    return hashlib.sha256((program.sha + canonical(program.configuration.non_default())).encode()).hexdigest()[:24]


def add(c: sqlite3.Connection, found: Found) -> FindingRow:
    """Keep a finding, or count it again when it is known."""
    row = c.execute("SELECT id FROM findings WHERE uid = ?", (found.uid,)).fetchone()
    if row is not None:
        _again(c, int(row[0]), found)
        return get(c, int(row[0]))
    finding_id = _insert(c, found)
    step = new_step(c, found.origin, undoable=False)
    step.record(c, "created", finding_id, {}, {"state": State.NEW.value, "count": 1})
    return get(c, finding_id)


def get(c: sqlite3.Connection, finding_id: int) -> FindingRow:
    """One finding that is not deleted."""
    row = c.execute(f"{_SELECT} WHERE f.id = ? AND f.deleted IS NULL", (finding_id,)).fetchone()
    if row is None:
        raise changes.missing(finding_id)
    return _as_row(row)


def rows(c: sqlite3.Connection, ids: Sequence[int]) -> list[FindingRow]:
    """Findings in the order of ``ids``; those that are gone are left out."""
    found: dict[int, FindingRow] = {}
    for start in range(0, len(ids), _CHUNK):
        part = list(ids[start : start + _CHUNK])
        marks = ", ".join("?" * len(part))
        found.update({row["id"]: _as_row(row) for row in c.execute(f"{_SELECT} WHERE f.id IN ({marks}) AND f.deleted IS NULL", part)})
    return [found[finding_id] for finding_id in ids if finding_id in found]


def program(c: sqlite3.Connection, finding_id: int) -> Program:
    """The program as it was found."""
    row = changes.current(c, [finding_id], ("program_id", "configuration"))[0]
    configuration = Configuration.from_json(json.loads(row["configuration"]))
    return Program(blobs.get(c, row["program_id"]), configuration, f"finding:{finding_id}")


def reduced(c: sqlite3.Connection, finding_id: int) -> Program | None:
    """The reduced program; its configuration is the one its verdict was given under."""
    row = changes.current(c, [finding_id], ("reduced_id", "reduced_verdict_id"))[0]
    if row["reduced_id"] is None:
        return None
    configuration = _verdict(c, row["reduced_verdict_id"]).configuration
    return Program(blobs.get(c, row["reduced_id"]), configuration, f"finding:{finding_id}")


def verdict(c: sqlite3.Connection, finding_id: int) -> Verdict:
    """The verdict on the program as it was found."""
    return _verdict(c, changes.current(c, [finding_id], ("verdict_id",))[0]["verdict_id"])


def reduced_verdict(c: sqlite3.Connection, finding_id: int) -> Verdict | None:
    """The verdict on the reduced program."""
    row = changes.current(c, [finding_id], ("reduced_verdict_id",))[0]
    return None if row[1] is None else _verdict(c, row[1])


def rename(c: sqlite3.Connection, finding_id: int, title: str, *, actor: str, why: str = "") -> list[int]:
    """Another title, one undo step."""
    plain = " ".join(title.split())
    if not 0 < len(plain) <= LONGEST or not plain.isprintable():
        raise WorkbenchError(f"{title!r} cannot be a title", f"1 to {LONGEST} printable characters")
    return changes.change(c, new_step(c, actor, why), "title", [finding_id], {"title": plain})


def assign(c: sqlite3.Connection, ids: Sequence[int], assignee: str, *, actor: str, why: str) -> list[int]:
    """Give findings to a person or, with an empty name, to nobody; one undo step."""
    plain = " ".join(assignee.split())
    if not plain.isprintable() or plain.lower() == NOBODY:
        raise WorkbenchError(f"{assignee!r} cannot be an assignee", f'printable characters, and not "{NOBODY}"')
    return changes.change(c, new_step(c, actor, why), "assignee", ids, {"assignee": plain})


def delete(c: sqlite3.Connection, ids: Sequence[int], *, actor: str, why: str) -> list[int]:
    """Hide findings, one undo step."""
    changes.current(c, ids, ())
    return changes.change(c, new_step(c, actor, why), "deleted", ids, {"deleted": times.now()})


def _again(c: sqlite3.Connection, finding_id: int, found: Found) -> None:
    """A repeat is counted; it brings back what was deleted and makes what was fixed regress."""
    row = c.execute("SELECT deleted, torch_key FROM findings WHERE id = ?", (finding_id,)).fetchone()
    if row["deleted"] is not None:
        changes.change(c, new_step(c, found.origin, "found again"), "deleted", [finding_id], {"deleted": None})
    if found.verdict.torch:
        states.seen_again(c, finding_id, found.verdict.torch)
    c.execute("UPDATE findings SET count = count + 1, seen = ? WHERE id = ?", (times.now(), finding_id))
    if versions.key(found.verdict.torch) > row["torch_key"]:
        versions_now = (found.verdict.torch, versions.key(found.verdict.torch), finding_id)
        c.execute("UPDATE findings SET torch = ?, torch_key = ? WHERE id = ?", versions_now)


def _insert(c: sqlite3.Connection, found: Found) -> int:
    judged, signature = found.verdict, found.signature
    symptoms = judged.symptoms or signature.symptoms
    stage, guilty = judged.stage or signature.stage, signature.guilty or judged.guilty
    ops = outline.ops_of(signature.skeleton)
    title = title_of(symptoms, ops, stage, guilty)
    signature_id, bucket_id = buckets.lead(c, signature, title)
    now = times.now()
    values = {
        "uid": found.uid,
        "title": title,
        "state": State.NEW.value,
        "bucket_id": bucket_id,
        "signature_id": signature_id,
        "stage": stage.value if stage else None,
        "symptoms": json.dumps(symptoms),
        "guilty": guilty,
        "origin": found.origin,
        "seed": found.seed,
        "characteristic": found.characteristic,
        "code": found.trigger,
        "mutators": json.dumps(found.mutators),
        "backend": found.program.configuration.backend,
        "dtype": next((d.dtype for d in judged.differences if d.dtype and d.excused is None), ""),
        "ops": " ".join(ops),
        "configuration": canonical(found.program.configuration.non_default()),
        "torch": judged.torch,
        "torch_key": versions.key(judged.torch),
        "statements": outline.count_statements(found.program.source),
        "created": now,
        "seen": now,
        "program_id": blobs.put(c, found.program.source, "program"),
        "verdict_id": blobs.put(c, canonical(judged.to_json()), "verdict"),
        "campaign_id": found.campaign,
    }
    marks = ", ".join("?" * len(values))
    finding_id = int(c.execute(f"INSERT INTO findings ({', '.join(values)}) VALUES ({marks})", list(values.values())).lastrowid or 0)
    set_terms(c, finding_id, symptoms, ops)
    search.index(c, finding_id)
    leaders.offer(c, bucket_id, finding_id)
    return finding_id


def set_terms(c: sqlite3.Connection, finding_id: int, symptoms: Sequence[Symptom], ops: Sequence[str]) -> None:
    """What filters look findings up by; instead of what was there before."""
    c.execute("DELETE FROM finding_symptoms WHERE finding_id = ?", (finding_id,))
    c.execute("DELETE FROM finding_ops WHERE finding_id = ?", (finding_id,))
    c.executemany(
        "INSERT INTO finding_symptoms (symptom, finding_id) VALUES (?, ?)", [(s.value, finding_id) for s in dict.fromkeys(symptoms)]
    )
    c.executemany("INSERT INTO finding_ops (op, finding_id) VALUES (?, ?)", [(op, finding_id) for op in dict.fromkeys(ops)])


def _verdict(c: sqlite3.Connection, blob_id: int) -> Verdict:
    return Verdict.from_json(json.loads(blobs.get(c, blob_id)))


def _as_row(row: sqlite3.Row) -> FindingRow:
    return FindingRow(
        id=row["id"],
        uid=row["uid"],
        title=row["title"],
        state=State(row["state"]),
        bucket=row["bucket_id"],
        signature=row["signature"],
        final=bool(row["final"]),
        stage=Stage(row["stage"]) if row["stage"] else None,
        symptoms=tuple(Symptom(s) for s in json.loads(row["symptoms"])),
        guilty=row["guilty"],
        labels=tuple(json.loads(row["labels"])),
        assignee=row["assignee"],
        origin=row["origin"],
        seed=row["seed"],
        characteristic=row["characteristic"],
        code=row["code"],
        mutators=tuple(json.loads(row["mutators"])),
        backend=row["backend"],
        dtype=row["dtype"],
        ops=tuple(row["ops"].split()),
        configuration=json.loads(row["configuration"]),
        torch=row["torch"],
        fixed_torch=row["fixed_torch"],
        count=row["count"],
        reduction=Reduction(row["reduction"]),
        statements=row["statements"],
        created=row["created"],
        seen=row["seen"],
        program_sha=row["program_sha"],
        reduced_sha=row["reduced_sha"],
        duplicate_of=row["duplicate_of"],
        verified=(row["verified"], row["verified_runs"]),
        campaign=row["campaign_id"],
        generated=str(row["titled"] or "").startswith(GENERATED),
    )
