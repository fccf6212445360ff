"""What a bucket is, in words: its signature part by part with the reasons, who is in it and why, and previews of merge, split and duplicates."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from store.plain import one_line
from store.records import LADDER, SIDE_EXITS, Signature
from store.rows import BucketRow, FindingRow
from workbench.export.sentences import STAGES, SYMPTOMS, titled
from workbench.triage.configuration_text import SIGNS
from workbench.triage.messages import BucketDetail

SHOWN = 8


def signature_content(detail: BucketDetail) -> Content:
    """The signature with the reason for each part, and the members that it does not explain."""
    bucket, leader, verdict = detail.bucket, detail.leader, detail.verdict
    told = Signature.from_text(bucket.signature, final=bool(leader and leader.final))
    lines = [Content.styled(f"Bucket {bucket.id}  {one_line(bucket.title)}", "bold"), _pair("signature", bucket.signature)]
    if told.stage:
        ladder = verdict.ladder if verdict else {}
        lines.append(_pair("stage", f"{told.stage}: {STAGES[told.stage]}"))
        rungs = "  ".join(f"{SIGNS.get(ladder[b], '·')} {b}" for b in LADDER.values() if b in ladder)
        lines += [_pair("", rungs)] if rungs else []
    else:
        lines.append(_pair("stage", "not known: no ladder was asked for"))
    if told.guilty:
        lines.append(_pair("guilty", f"{told.guilty}: without it the mismatch is gone"))
    elif verdict and verdict.guilty_asked:
        lines.append(_pair("guilty", "no single pass: switching each off leaves the mismatch"))
    else:
        lines.append(_pair("guilty", "not part of it: no pass was bisected"))
    for symptom in told.symptoms:
        lines.append(_pair("symptom", f"{symptom}: {SYMPTOMS[symptom]}"))
    source = "the reduced program" if told.final else "the unreduced program, provisional"
    lines.append(_pair("skeleton", f"{' '.join(told.skeleton) or '–'}   (of {source})"))
    if leader:
        runs = f", {leader.verified[0]} of {leader.verified[1]} cold runs" if leader.verified[1] else ""
        lines.append(_pair("leader", f"finding {leader.id}: the smallest reliable repro, {leader.statements} statements{runs}"))
    others = [key for key in bucket.keys if key != bucket.signature]
    if others:
        more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
        lines.append(_pair("also leads here", f"{len(others)} other signatures{more}"))
        lines += [_pair("", key) for key in others[:SHOWN]]
    if detail.moved:
        shown = ", ".join(map(str, detail.moved[:SHOWN]))
        lines.append(
            _pair("by hand", f"finding {shown}{' …' if len(detail.moved) > SHOWN else ''}: signature leads elsewhere, a person put it here")
        )
    return Content("\n").join(lines)


def merge_preview(into: BucketRow, others: Sequence[BucketRow]) -> str:
    """What merging would do."""
    moving = sum(b.members for b in others)
    lines = [
        f"Merge {len(others)} bucket{'s' * (len(others) > 1)} into bucket {into.id}?",
        "",
        f"into  {into.id}: {into.members} findings  {into.title}",
    ]
    lines += [f"from  {b.id}: {b.members} findings  {b.title}" for b in others[:SHOWN]]
    lines += [f"      and {len(others) - SHOWN} more buckets"] if len(others) > SHOWN else []
    keys = sum(len(b.keys) for b in others)
    lines += [
        "",
        f"{moving} findings move; later findings of {keys} signature{'s' * (keys != 1)} go to bucket {into.id} too. u takes it back.",
    ]
    return "\n".join(lines)


def split_preview(bucket: BucketRow, chosen: Sequence[FindingRow]) -> str:
    """What splitting would do."""
    lines = [f"Split {len(chosen)} finding{'s' * (len(chosen) > 1)} off bucket {bucket.id} into a bucket of their own?", ""]
    lines += [f"{row.id}  {row.statements} statements  {titled(row)}" for row in chosen[:SHOWN]]
    lines += [f"and {len(chosen) - SHOWN} more"] if len(chosen) > SHOWN else []
    left = bucket.members - len(chosen)
    again = " A new leader is chosen for those that stay." if bucket.leader in [row.id for row in chosen] and left else ""
    lines += ["", f"{left} stay; later findings of their signature still go to bucket {bucket.id}.{again} u takes it back."]
    return "\n".join(lines)


def duplicates_preview(leader: FindingRow, chosen: Sequence[FindingRow], left: Sequence[FindingRow]) -> str:
    """What calling members duplicates of the leader would do."""
    lines = [
        f"Set {len(chosen)} finding{'s' * (len(chosen) > 1)} to duplicate of {leader.id}?",
        "",
        f"leader  {leader.id}  {titled(leader)}",
        "",
    ]
    lines += [f"{row.id}  {row.state}  {titled(row)}" for row in chosen[:SHOWN]]
    lines += [f"and {len(chosen) - SHOWN} more"] if len(chosen) > SHOWN else []
    aside = f"{len(left)} {'is' if len(left) == 1 else 'are'} put aside, reported or fixed already: not touched. " if left else ""
    return "\n".join([*lines, "", f"{aside}u takes it back."])


def fold_preview(buckets: Sequence[BucketRow]) -> str:
    """What calling the members of several buckets duplicates of their leaders would do."""
    most = sum(b.members - 1 for b in buckets)
    lines = [f"In {len(buckets)} bucket{'s' * (len(buckets) > 1)}, set all but the leader to duplicate?", ""]
    lines += [f"{b.id}: leader {b.leader}, {b.members - 1} other{'s' * (b.members != 2)}  {b.title}" for b in buckets[:SHOWN]]
    lines += [f"and {len(buckets) - SHOWN} more buckets"] if len(buckets) > SHOWN else []
    return "\n".join([*lines, "", f"At most {most} findings; those reported, fixed or put aside are not touched. u takes it back."])


def duplicates(members: Sequence[FindingRow], leader: int | None, marked: Sequence[int]) -> tuple[list[FindingRow], list[FindingRow]]:
    """(members that would become duplicates of the leader, members that would be left): the marked ones, else all but the leader."""
    asked = [row for row in members if row.id != leader and (not marked or row.id in marked)]
    closed = SIDE_EXITS | {"reported", "fixed"}
    return [row for row in asked if row.state not in closed], [row for row in asked if row.state in closed]


def _pair(name: str, value: str) -> Content:
    return Content.assemble((f"  {name:<15} ", "dim"), one_line(value, 1000))
