"""The runs that judge one program, each made once and kept: eager twice, compiled, shadow, nudges. A run that gives no observation raises."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from store.records import JSON, Configuration, Program, canonical
from workbench.oracle.observation import ForgedError, Observation
from workbench.programs import said_keys
from workbench.runner.protocol import Limits, Request
from workbench.servers import Run

POISON, OTHER_POISON = 0x5A, 0xA5
"""Bytes for fresh memory: the first for eager, compiled and confirming runs, the second only for the control (anchors: same byte, or
legitimate reads of ``torch.empty`` look flaky)."""
NUDGE_BATCHES = ((0, 1), tuple(range(2, 6)), tuple(range(6, 24)), (24, 26, 28, 30))
"""24 seeds (5 left six of 240 noise programs reported), in batches so that easy ones stop early; then those whose steps go together, for whole
numbers alone: a count of many flips is further from another order's than 24 random ones tell."""
TOGETHER = len(NUDGE_BATCHES) - 1

LARGE = 1 << 20
"""Elements from which a leaf is nudged only when nothing smaller decides: gradients of some hundred MB."""

STEPS = {"run": "eager", "shadow": "float64 shadow", "nudge": "nudged runs"}
"""What the runs that do not compile are called when somebody waits for them."""

TRIVIAL = "import torch\n\n\ndef fn(x):\n    return x + 1\n\n\ndef get_inputs():\n    return [torch.ones(8)]\n"


class Runner(Protocol):
    """What the oracle needs of a pool of servers."""

    def run(self, request: Request) -> Run:
        """Execute one request in its own child."""
        ...


class UndecidedError(Exception):
    """A run gave no observation: timeout, memory, a dead worker, a forged result. The reason is one sentence."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how a program's runs happen.

    profile: ``own`` (files a person named) or ``untrusted`` (everything else), DESIGN §2
    folder:  cwd in profile own
    argv:    arguments after ``--``
    limits:  of each run
    test:    ``Class::test`` or ``test``: the file is a test file and only this test runs
    said:    keys of the configuration that somebody asked for beyond the file's block; they override what a script says itself
    asserts: False: a script's own asserts are taken out of its way
    tell:    hears what runs (seconds None) and how long it took, for people who wait
    """

    profile: str = "untrusted"
    folder: str | None = None
    argv: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    test: str = ""
    said: frozenset[str] = frozenset()
    asserts: bool = True
    tell: Callable[[str, float | None], None] | None = field(default=None, compare=False)


WORTH_TELLING = 0.5
"""Seconds of waiting for a server (it starts, or serves another program) from which they are told beside what ran."""


class Runs:
    """All runs of one program under one configuration. Not thread-safe; the pool below is."""

    def __init__(self, pool: Runner, program: Program, setting: Setting) -> None:
        self._pool = pool
        self.program = program
        self.setting = setting
        self._kept: dict[str, Observation] = {}
        self.leaf = "leaf"
        self.compiles = 0
        self.calls = 0
        self.missing: tuple[str, ...] = ()
        self.said = ""
        self._is_script = False

    @property
    def configuration(self) -> Configuration:
        """How the program is compiled."""
        return self.program.configuration

    def sibling(self, program: Program) -> Runs:
        """Runs of another program in the same place; what it ran counts for itself."""
        return Runs(self._pool, program, self.setting)

    def eager(self) -> Observation:
        """The run that everything is compared with."""
        found = self._observe("run", poison=POISON)
        if found.facts.get("leaf") == "clone":
            self.leaf = "clone"
        self._is_script = found.facts.get("form") == "script"
        return found

    def control(self, poison: int = OTHER_POISON) -> Observation:
        """Eager again with other bytes in fresh memory; with ``POISON``, a plain repetition."""
        return self._observe("run", poison=poison, key=f"control{poison}")

    def compiled(self, backend: str | None = None, patches: Mapping[str, Mapping[str, JSON]] | None = None, **changes: Any) -> Observation:
        """The compiled run under a backend (default: the configuration's), further patches and changed configuration keys.

        ``key`` in ``changes`` names a repetition that must not be answered from what is kept.
        """
        override = self._override(backend, changes)
        backend = backend or self.configuration.backend
        return self._observe("run", backend=backend, poison=POISON, patches=patches, options=override, **changes)

    def shadow(self) -> Observation:
        """Eager with its float64 image and warnings."""
        return self._observe("shadow", poison=POISON)

    def nudged(self, batch: int, *, large: bool = False) -> list[Observation]:
        """Bounds of eager under one-ulp perturbations of inexact nodes, for one batch of seeds, in as many runs as their time takes.

        ``large``: also of leaves of more than ``LARGE`` elements
        """
        options = {"plan": self.shadow().facts.get("plan"), "most": None if large else LARGE}
        seeds, found = list(NUDGE_BATCHES[batch]), []
        while seeds:
            found.append(self._observe("nudge", poison=POISON, seeds=seeds, options=options))
            done = _mapping(found[-1].facts.get("nudge")).get("seeds")
            seeds = seeds[done if isinstance(done, int) and done > 0 else len(seeds) :]
        return found

    def _override(self, backend: str | None, changes: Mapping[str, Any]) -> dict[str, list[str]]:
        """Which keys of the configuration override what a script itself says; what nobody asked for stays as the script has it."""
        if not self._is_script:
            return {}
        said = (
            self.setting.said | said_keys(self.program.source) | set(self.configuration.non_default()) | (set(changes) - {"key", "bisect"})
        )
        return {"override": sorted(said | {"backend"} if backend else said)}

    def compiler_works(self) -> bool:
        """Whether Inductor can build a trivial kernel here: a broken compiler is the machine's fault, not the program's."""
        return compiles(self._pool, self.configuration.device, self.setting.limits)

    def _observe(
        self,
        action: str,
        *,
        backend: str | None = None,
        poison: int | None = None,
        patches: Mapping[str, Mapping[str, JSON]] | None = None,
        seeds: list[int] | None = None,
        options: dict[str, Any] | None = None,
        bisect: dict[str, Any] | None = None,
        key: str = "",
        **changes: Any,
    ) -> Observation:
        name = canonical([action, backend, poison, {k: dict(v) for k, v in (patches or {}).items()}, seeds, bisect, key, changes, options])
        if name not in self._kept:
            request = Request(
                action=action,
                source=self.program.source,
                filename=self._filename(),
                profile=self.setting.profile,
                folder=self.setting.folder,
                argv=list(self.setting.argv),
                configuration={**self.configuration.to_json(), **changes},
                backend=backend,
                poison=poison,
                leaf=self.leaf,
                patches={k: dict(v) for k, v in (patches or {}).items()},
                bisect=bisect,
                seeds=seeds or [],
                options={**(options or {}), **self._form()},
                limits=self.setting.limits,
            )
            self._kept[name] = self._run(request)
        return self._kept[name]

    def _filename(self) -> str:
        """What tracebacks call the program. An untrusted one gets no path: Dynamo opens a file by that name, which the child may not read."""
        name = self.program.name.partition("::")[0]
        return name if self.setting.profile == "own" else name.rpartition("/")[2] or "program.py"

    def _form(self) -> dict[str, Any]:
        return {**({"test": self.setting.test} if self.setting.test else {}), **({} if self.setting.asserts else {"asserts": False})}

    def _run(self, request: Request) -> Observation:
        tell, started = self.setting.tell or (lambda step, seconds: None), time.monotonic()
        own = self._is_script and "backend" not in request.options.get("override", ())
        step = "compiled" if own else f"compiled ({request.backend})"
        step = step if request.backend else STEPS[request.action]
        tell(step, None)
        run = self._pool.run(request)
        waited = time.monotonic() - started - run.seconds
        tell(step, run.seconds)
        if waited > WORTH_TELLING:
            tell("waiting for a server", waited)
        self.calls += 1
        self.compiles += _uses_inductor(request.backend)
        self.missing = tuple(run.missing)
        self.said = run.output or self.said
        what = f"{request.backend} run" if request.backend else f"eager {request.action}"
        if run.status != "ok" or run.document is None:
            raise UndecidedError(_sentence(what, run, request))
        try:
            return Observation(run.document, run.blobs)
        except ForgedError as error:
            raise UndecidedError(f"{what}: its result is not what a runner writes ({error})") from error


def _mapping(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, dict) else {}


def _uses_inductor(backend: str | None) -> bool:
    return backend is not None and backend not in ("eager", "aot_eager", "aot_eager_decomp_partition")


def _sentence(what: str, run: Run, request: Request) -> str:
    reasons = {
        "timeout": f"took longer than {request.limits.seconds:g} s",
        "memory": f"used more than {request.limits.memory_mb} MB",
        "disk": f"wrote more than {request.limits.scratch_mb} MB",
        "died": "ended without a result",
        "forged": "wrote a result that is not its own",
        "output": "wrote a result that is too large",
    }
    reason = reasons.get(run.status, run.status)
    return f"{what} {reason} ({run.detail})" if run.detail and run.detail not in reason else f"{what} {reason}"


def compiles(pool: Runner, device: str = "cpu", limits: Limits | None = None) -> bool:
    """Whether Inductor builds and runs a trivial kernel in a run of this pool."""
    program = Program(TRIVIAL, Configuration(device=device), "trivial.py")
    setting = Setting(limits=limits) if limits else Setting()
    return Runs(pool, program, setting).compiled().outcome == "returned"
