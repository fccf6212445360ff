"""Program files from elsewhere on their way into the store: judged in isolation, each content once, kept when they mismatch or err."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from store import Store
from store.findings import uid_of
from store.records import JSON, Outcome, Program, Verdict
from store.rows import JobKind
from workbench.errors import ProgramError
from workbench.oracle.judge import VERSION, Judge, as_found
from workbench.oracle.memo import Memo
from workbench.programs import program_files, read_program
from workbench.servers import Pool
from workbench.signature import signature

ORIGIN = "import"
KEPT = (Outcome.MISMATCH, Outcome.ERROR)


@dataclass(frozen=True, slots=True)
class Intake:
    """``say`` hears a line a file. ``reduce``: queue a reduction for the first finding of each new bucket."""

    store: Store
    jobs: int
    python: str | None
    reduce: bool
    say: Callable[[str], None]

    def run(self, paths: Sequence[Path]) -> dict[str, JSON]:
        """Judge what is not known yet; the document of ``import --json`` for program files."""
        counts: Counter[str] = Counter()
        programs = list(self._unknown(program_files(paths), counts))
        ids: list[int] = []
        if programs:
            with Pool(python=self.python, jobs=min(self.jobs, len(programs))) as pool, ThreadPoolExecutor(self.jobs) as workers:
                environment = pool.environment()
                judge = Judge(pool, memo=Memo(self.store, environment, VERSION))
                for program, verdict in zip(programs, workers.map(judge.check, programs), strict=True):
                    counts[verdict.outcome.value] += 1
                    kept = self._keep(program, self._named(verdict, environment)) if verdict.outcome in KEPT else None
                    ids += [] if kept is None else [kept]
                    self.say(f"{program.name}: {verdict.outcome.value}" + (f", finding {kept}" if kept else f" ({verdict.reason})"))
        told = {outcome.value: counts[outcome.value] for outcome in Outcome if counts[outcome.value]}
        self.say(f"{len(ids)} findings from {len(programs)} programs; {counts['known']} were known, {counts['unreadable']} are no programs")
        return {
            "source": [str(p) for p in paths], "judged": len(programs), "known": counts["known"], "unreadable": counts["unreadable"],
            "verdicts": told, "findings": ids,
        }  # fmt: skip

    def _unknown(self, files: Sequence[Path], counts: Counter[str]) -> Iterator[Program]:
        """Programs whose content is not in the store, each once."""
        met: set[str] = set()
        for file in files:
            try:
                program = read_program(file)
            except ProgramError as error:
                counts["unreadable"] += 1
                self.say(f"{error.message} ({error.hint})")
                continue
            uid = uid_of(program)
            if uid in met or self.store.known(uid):
                counts["known"] += 1
                continue
            met.add(uid)
            # not its path: an isolated child may not read it, and Dynamo opens the file that a program says it is from
            yield replace(program, name=f"{ORIGIN}:{file.stem}")

    def _keep(self, program: Program, verdict: Verdict) -> int:
        told = signature(verdict, program.source, final=False)
        with self.store.together():
            name = program.name.removeprefix(f"{ORIGIN}:")
            row = self.store.add_finding(as_found(program, verdict), verdict, signature=told, origin=ORIGIN, seed_name=name)
            if self.reduce and self.store.bucket(row.bucket).members == 1:
                self.store.enqueue(JobKind.REDUCE, row.id, actor=ORIGIN)
        return row.id

    @staticmethod
    def _named(verdict: Verdict, environment: dict[str, JSON]) -> Verdict:
        """The verdict with the torch and machine that gave it."""
        names = ("cpu", "capability", "cpu_capability", "compiler", "python")
        machine: dict[str, JSON] = {k: environment[k] for k in names if k in environment}
        return replace(verdict, torch=str(environment.get("torch", "")), machine={**machine, "threads": verdict.configuration.threads})
