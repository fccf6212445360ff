"""What host and runner say to each other: requests, results, the frame around a result. Standard library only; both sides import it.

A result leaves the child as JSON and raw tensor bytes, never pickle. Whatever does not parse, carries another token or is cut short is no
result: the host then says ``undecided``.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict, dataclass, field
from typing import Any

MAGIC = b"WBRESULT"
END = b"WBEND\n"
VERSION = 1

ACTIONS = ("run", "shadow", "nudge", "trace", "capture", "screen", "environment")
"""run: execute and observe, eager (backend None) or compiled. shadow: eager with a float64 image per storage and warnings. nudge: eager
under one-ulp perturbations, one request for many seeds. trace: metadata of every value, for mutators. capture: Dynamo's graphs, for the
reducer. screen: which of many texts run in eager. environment: torch version, CPU capability, compiler."""


class FrameError(ValueError):
    """The bytes are no result of this run: cut, forged, or from another run."""


@dataclass(slots=True)
class Limits:
    """What one run may use.

    seconds:   wall clock, whole child
    memory_mb: resident memory of the child and its children together
    file_mb:   largest file it may write
    scratch_mb: all files that it may have at once
    output_kb: stdout and stderr kept; the rest is dropped and counted
    """

    seconds: float = 60.0
    memory_mb: int = 4096
    file_mb: int = 1024
    scratch_mb: int = 2048
    output_kb: int = 256


@dataclass(slots=True)
class Request:
    """One run, one child.

    action:        one of ``ACTIONS``
    source:        text of the program
    filename:      what tracebacks call it; the real path in profile own
    profile:       ``own`` or ``untrusted`` (DESIGN §2)
    folder:        cwd and sys.path[0] in profile own; None: the scratch folder
    argv:          arguments after ``--``
    configuration: ``Configuration.to_json()`` with overrides applied; its backend is the one to compile with
    backend:       None: do not compile (eager); else the backend of this run (the ladder changes it)
    poison:        byte for glibc's M_PERTURB, or None
    leaf:          ``leaf``: inputs that get requires_grad by the grad rule are leaves; ``clone``: the callable gets a non-leaf clone
    patches:       further configuration patches of this run, e.g. {"inductor": {"fallback_random": true}}
    bisect:        {"backend":…, "subsystem":…, "max":…} for compiler_bisector's switches, or None
    seeds:         for nudge: the seeds to run
    options:       whatever an action needs besides
    """

    action: str
    source: str
    filename: str = "program.py"
    profile: str = "untrusted"
    folder: str | None = None
    argv: list[str] = field(default_factory=list)
    configuration: dict[str, Any] = field(default_factory=dict)
    backend: str | None = None
    poison: int | None = None
    leaf: str = "leaf"
    patches: dict[str, dict[str, Any]] = field(default_factory=dict)
    bisect: dict[str, Any] | None = None
    seeds: list[int] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    scratch: str = ""
    token: str = ""

    def to_bytes(self) -> bytes:
        """JSON for the wire."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Request:
        """The inverse of ``to_bytes``."""
        fields = json.loads(data)
        fields["limits"] = Limits(**fields["limits"])
        return cls(**fields)


# A result document (the JSON part of a frame) for run, shadow and nudge:
#
# {"outcome":   "returned" | "raised" | "invalid",
#  "where":     "import" | "get_inputs" | "constructor" | "call" | "backward",      where it stopped; "call" when it returned
#  "exception": null | {"class": "ValueError",        Dynamo's wrappers unwrapped, qualified name unless builtin
#                       "wrapped": "torch._dynamo.exc.TorchRuntimeError" | null,
#                       "message": "...", "line": 12 | null,                        line in the program file
#                       "traceback": "..."},
#  "leaves":    [{"path": "return[0]",                sections: return inputs parameters buffers globals gradients
#                 "dtype": "float32", "shape": [2,3], "stride": [3,1], "offset": 0, "device": "cpu", "requires_grad": false,
#                 "kind": "dense" | "sparse_coo" | ... , "class": "Tensor" | "Parameter" | subclass name,
#                 "blob": [offset, bytes],            C-order elements, conj and neg resolved
#                 "same": "inputs[0]",                the same object as an earlier leaf
#                 "shadow": [offset, bytes],          action shadow: float64 (complex128) image, only for float and complex leaves
#                 "exact": true,                      action shadow: every element comes from exact nodes
#                 "low": [offset, bytes], "high": [offset, bytes], "nan": [offset, bytes],
#                                                   action nudge: float64 minimum and maximum over the seeds (NaN runs left out) and uint8
#                                                   "some seed gave NaN"; also for integer and bool leaves; complex: a last axis of 2
#                 "keys": {"blob": [offset, bytes], "shape": [...], "dim": 1 | null},
#                                                   action shadow, index leaves (argmax, sort, topk ...): the float64 keys that were compared;
#                                                   index i at position p stands for keys[p with dim replaced by i] (null: flattened)
#                ...],
#  "python":    {"return": canonical, "inputs": canonical, "globals": canonical},    tensors stand as {"tensor": path}
#                also "gradients": {owner: {"tensor": path} | null}; the canonical forms are listed in describe.py
#  "aliases":   [["return[0]", "inputs[0]"], ...],    pairs whose memory overlaps, each pair sorted by path order of appearance
#  "probed":    [["return[0]", "inputs[0]"], ...],    a write into the first changed the second (run last, after gradients)
#  "rng":       {"torch": hex, "python": hex, "numpy": hex},
#  "modes":     {"grad": true, "autocast_cpu": false, "autocast_dtype": ..., "default_dtype": ..., "deterministic": ...},
#  "facts":     {"random": bool,       drew random numbers (shadow)       "half": bool,  half types occurred (shadow)
#                "leaf": "leaf"|"clone",  how the inputs got their grad   "exact": bool, every node was exact (shadow)
#                "compiled_frames": n, "graphs": n, "asks_if_compiled": bool, "counts": {...what the shadow skipped or restarted}},
#  "warnings":  {"overflow": {evidence}, ...},        action shadow
#  "calls":     [{outcome ... modes as above, of one call}, ...],    script form only; its file has facts {"form": "script", "dropped": n, "ended":
#                null | {class, message, line}} and no leaves of its own; a call has facts {"call": {name, line, backend, dynamic, ...}};
#                besides the sections above there are before.inputs, before.parameters ... and after.return, after.inputs ...
#                A large leaf that the call left unchanged has "digest" (sha256 of the bytes) and no blob, in harness form too
#  "timings":   {"import": s, "inputs": s, "call": s, "backward": s, "observe": s}}


def frame(token: str, document: dict[str, Any], blobs: bytes | bytearray | memoryview = b"") -> bytes:
    """The bytes of one result: magic, version, token, lengths, JSON, blobs, sha256 of both, end mark."""
    text = json.dumps(document).encode()
    digest = hashlib.sha256(text)
    digest.update(blobs)
    head = MAGIC + struct.pack("<I32sQQ", VERSION, token.encode(), len(text), len(blobs))
    return b"".join((head, text, bytes(blobs), digest.digest(), END))


def unframe(data: bytes, token: str) -> tuple[dict[str, Any], memoryview]:
    """The document and blobs of a framed result; FrameError for anything else."""
    head = len(MAGIC) + struct.calcsize("<I32sQQ")
    if len(data) < head or data[: len(MAGIC)] != MAGIC:
        raise FrameError("no result")
    version, sent, text_size, blob_size = struct.unpack("<I32sQQ", data[len(MAGIC) : head])
    if version != VERSION or sent.rstrip(b"\0") != token.encode():
        raise FrameError("a result of another run")
    if len(data) != head + text_size + blob_size + 32 + len(END) or data[-len(END) :] != END:
        raise FrameError("a result that was cut short or goes on after its end")
    body = memoryview(data)[head : head + text_size + blob_size]
    if hashlib.sha256(body).digest() != data[head + text_size + blob_size : head + text_size + blob_size + 32]:
        raise FrameError("a result that does not match its digest")
    try:
        document = json.loads(bytes(body[:text_size]))
    except ValueError as error:
        raise FrameError("a result that is no JSON") from error
    if not isinstance(document, dict):
        raise FrameError("a result that is no object")
    return document, body[text_size:]
