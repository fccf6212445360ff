"""The nouns that all three packages share: plain frozen records, standard library only. They know nothing of where they are kept.

Every record has ``to_json`` and ``from_json`` over plain JSON values, so that a verdict can be printed, stored and read back unchanged.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Self

from store.vocabulary import EXIT_CODES, LADDER, SIDE_EXITS, WEAK_SYMPTOMS, NoiseKind, Outcome, Stage, State, Symptom, Warning

__all__ = [
    "EXIT_CODES",
    "JSON",
    "LADDER",
    "MODES",
    "SIDE_EXITS",
    "WEAK_SYMPTOMS",
    "Configuration",
    "Difference",
    "Element",
    "Noise",
    "NoiseKind",
    "Outcome",
    "Program",
    "Signature",
    "Stage",
    "State",
    "Symptom",
    "Verdict",
    "Warning",
    "canonical",
]

JSON = Any  # str | int | float | bool | None | list[JSON] | dict[str, JSON]

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@dataclass(frozen=True, slots=True)
class Configuration:
    """How a program is compiled and compared: the keys of its workbench block (DESIGN §2).

    dynamic:  None is torch's own default
    grad:     also compare gradients
    inductor: patches of ``torch._inductor.config``, dotted names
    dynamo:   patches of ``torch._dynamo.config``
    """

    backend: str = "inductor"
    mode: str = "default"
    dynamic: bool | None = None
    fullgraph: bool = False
    device: str = "cpu"
    grad: bool = False
    seed: int = 0
    threads: int = 1
    inductor: Mapping[str, JSON] = field(default_factory=dict)
    dynamo: Mapping[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """Every key, also those at their default."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def non_default(self) -> dict[str, JSON]:
        """Only the keys that differ from their default: what a block has to say."""
        plain = Configuration()
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if getattr(self, f.name) != getattr(plain, f.name)}

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Self:
        """The inverse of ``to_json``; unknown keys raise TypeError (``workbench.programs`` words them for people)."""
        return cls(**data)

    def __hash__(self) -> int:
        return hash(canonical(self.to_json()))

    def with_(self, **changes: JSON) -> Configuration:
        """The same configuration with some keys changed."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Program:
    """One plain Python file and how it is judged.

    source:        text of the whole file, its workbench block included
    configuration: the block's, with overrides applied
    name:          what to call it in messages: a path, or ``seed:NAME``, ``finding:ID``
    """

    source: str
    configuration: Configuration = field(default_factory=Configuration)
    name: str = "program.py"

    @property
    def sha(self) -> str:
        """sha256 of the source, hex."""
        return hashlib.sha256(self.source.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Element:
    """One place where eager and compiled differ. Values are text so that nan, inf and integers beyond 2**53 survive JSON."""

    index: tuple[int, ...]
    eager: str
    compiled: str
    float64: str | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One leaf in which eager and compiled disagree.

    path:       where in the observed tree, e.g. ``return[0]``, ``inputs[1]``, ``gradients.inputs[0]``, ``globals.box.v``
    dtype:      of the eager leaf, e.g. ``float32``; empty for Python values
    shape:      of the eager leaf
    mismatched: how many elements disagree and are not excused
    elements:   the first few of them
    max_abs:    largest absolute distance; None for non-numeric leaves
    max_rel:    largest distance relative to eager, where eager is not zero
    max_ulp:    largest distance in units in the last place of ``dtype`` at the larger side; None for non-float leaves
    change:     class of change for the same-bug predicate: ``nan->finite``, ``finite->inf``, ``finite:large``, ``dtype`` ...
    detail:     one sentence when there are no numbers: ``dtype int64, compiled uint8``
    grid:       at most 32x64 relative errors in row-major order, for pictures; never the tensors themselves
    excused:    the noise test that explains it, or None when nothing does
    """

    path: str
    symptom: Symptom
    dtype: str = ""
    shape: tuple[int, ...] = ()
    mismatched: int = 0
    elements: tuple[Element, ...] = ()
    max_abs: float | None = None
    max_rel: float | None = None
    max_ulp: float | None = None
    change: str = ""
    detail: str = ""
    grid: tuple[tuple[float, ...], ...] = ()
    excused: NoiseKind | None = None

    def to_json(self) -> dict[str, JSON]:
        """Plain JSON; infinities and nan become text."""
        data: dict[str, JSON] = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        data["elements"] = [{f.name: _plain(getattr(e, f.name)) for f in fields(e)} for e in self.elements]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Self:
        """The inverse of ``to_json``."""
        known = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        known["symptom"] = Symptom(known["symptom"])
        known["shape"] = tuple(known.get("shape", ()))
        known["elements"] = tuple(
            Element(tuple(e["index"]), e["eager"], e["compiled"], e.get("float64")) for e in known.get("elements", ())
        )
        known["grid"] = tuple(tuple(_number(v) for v in row) for row in known.get("grid", ()))
        for name in ("max_abs", "max_rel", "max_ulp"):
            known[name] = None if known.get(name) is None else _number(known[name])
        if known.get("excused") is not None:
            known["excused"] = NoiseKind(known["excused"])
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Noise:
    """Why a difference is no bug: the test that explained the last of it, and numbers as evidence."""

    kind: NoiseKind
    evidence: Mapping[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        return {"kind": self.kind.value, "evidence": dict(self.evidence)}

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Self:
        return cls(NoiseKind(data["kind"]), data["evidence"])


RESTRIDED = frozenset({"t!", "transpose!", "swapaxes!", "swapdims!", "squeeze!", "unsqueeze!", "as_strided!"})
"""In-place forms of views: they change nothing but sizes and strides, and a compiler that forgets one forgets them all: one bug."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What makes two findings the same bug: equal signatures share a bucket (DESIGN §3).

    guilty:   pass or op the ladder blames, or None
    skeleton: op sequence of the minimal program with dtype classes and structure flags
    final:    False while it comes from an unreduced program
    """

    stage: Stage | None
    guilty: str | None
    symptoms: tuple[Symptom, ...]
    skeleton: tuple[str, ...] = ()
    final: bool = False

    def text(self) -> str:
        """One line that people and the store compare by; equal text, same bucket. ``final`` is not part of it."""
        parts = [
            self.stage.value if self.stage else "-",
            self.guilty or "-",
            "+".join(s.value for s in self.symptoms),
            " ".join("restride!" if op in RESTRIDED else op for op in self.skeleton),
        ]
        return " | ".join(parts)

    @classmethod
    def from_text(cls, text: str, *, final: bool) -> Self:
        """A signature whose ``text()`` is this one; skeleton items that hold spaces come apart, which nothing compares."""
        stage, guilty, symptoms, skeleton = (*text.split(" | ", 3), "", "", "", "")[:4]
        return cls(
            Stage(stage) if stage != "-" else None,
            guilty if guilty != "-" else None,
            tuple(Symptom(s) for s in symptoms.split("+") if s),
            tuple(skeleton.split(" ")) if skeleton else (),
            final,
        )

    def to_json(self) -> dict[str, JSON]:
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Self:
        return cls(
            Stage(data["stage"]) if data.get("stage") else None,
            data.get("guilty"),
            tuple(Symptom(s) for s in data.get("symptoms", ())),
            tuple(data.get("skeleton", ())),
            bool(data.get("final", False)),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the oracle says of one program under one configuration; the document of ``check --json`` (DESIGN §13).

    reason:      one sentence for people
    ladder:      {backend: outcome}; empty when it was not asked for
    guilty:      pass or op that the bisector blames, or None ("no pass" is an answer: then ``guilty_asked`` is True)
    graph:       where several graphs were compiled, the one (or the first ones together) that shows it while the others stay eager, or empty
    replay:      environment under which the guilty graph and pass are the last that are let through, to put before a command; or empty
    calls:       for scripts, one verdict a compiled call
    seconds:     wall time of everything that led to it
    torch:       version that judged, with CPU capability and threads in ``machine``
    isolation:   layers that this machine lacks
    ruled_out:   of a finding, what else it might have been and why it is not: one phrase each
    """

    outcome: Outcome
    reason: str = ""
    symptoms: tuple[Symptom, ...] = ()
    warnings: tuple[Warning, ...] = ()
    noise: Noise | None = None
    stage: Stage | None = None
    configuration: Configuration = field(default_factory=Configuration)
    ladder: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    calls: tuple[Verdict, ...] = ()
    guilty: str | None = None
    guilty_asked: bool = False
    graph: str = ""
    replay: str = ""
    compiles: int = 0
    seconds: float = 0.0
    torch: str = ""
    machine: Mapping[str, JSON] = field(default_factory=dict)
    isolation: tuple[str, ...] = ()
    file: str = ""
    ruled_out: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 agree or noise, 1 mismatch or error, 2 invalid, 3 undecided."""
        return EXIT_CODES[self.outcome]

    def to_json(self) -> dict[str, JSON]:
        """The document of ``check --json``."""
        return {
            "file": self.file,
            "verdict": self.outcome.value,
            "reason": self.reason,
            "symptoms": [s.value for s in self.symptoms],
            "warnings": [w.value for w in self.warnings],
            "noise": self.noise.to_json() if self.noise else None,
            "stage": self.stage.value if self.stage else None,
            "config": self.configuration.to_json(),
            "ladder": dict(self.ladder),
            "differences": [d.to_json() for d in self.differences],
            "calls": [c.to_json() for c in self.calls],
            "guilty": self.guilty,
            "guilty_asked": self.guilty_asked,
            "graph": self.graph,
            "replay": self.replay,
            "compiles": self.compiles,
            "seconds": round(self.seconds, 3),
            "torch": self.torch,
            "machine": dict(self.machine),
            "isolation": list(self.isolation),
            "ruled_out": list(self.ruled_out),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Self:
        """The inverse of ``to_json``."""
        return cls(
            outcome=Outcome(data["verdict"]),
            reason=data.get("reason", ""),
            symptoms=tuple(Symptom(s) for s in data.get("symptoms", ())),
            warnings=tuple(Warning(w) for w in data.get("warnings", ())),
            noise=Noise.from_json(data["noise"]) if data.get("noise") else None,
            stage=Stage(data["stage"]) if data.get("stage") else None,
            configuration=Configuration.from_json(data.get("config", {})),
            ladder=dict(data.get("ladder", {})),
            differences=tuple(Difference.from_json(d) for d in data.get("differences", ())),
            calls=tuple(Verdict.from_json(c) for c in data.get("calls", ())),
            guilty=data.get("guilty"),
            guilty_asked=bool(data.get("guilty_asked", False)),
            graph=data.get("graph", ""),
            replay=data.get("replay", ""),
            compiles=data.get("compiles", 0),
            seconds=data.get("seconds", 0.0),
            torch=data.get("torch", ""),
            machine=dict(data.get("machine", {})),
            isolation=tuple(data.get("isolation", ())),
            file=data.get("file", ""),
            ruled_out=tuple(data.get("ruled_out", ())),
        )


def canonical(data: JSON) -> str:
    """JSON text that is equal for equal data: sorted keys, no spaces."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> JSON:
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def _number(value: JSON) -> float:
    return float(value)
