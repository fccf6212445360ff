"""One execution of a program: load it, make inputs, exercise the callable eager or compiled, backward. Nothing is observed here."""

from __future__ import annotations

import builtins
import collections.abc
import contextlib
import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree

from . import configuration, faults, gradients, refusals
from .globals import tensors_of
from .observe import digests, undisturbed
from .program import Invalid, Program, load, seed_everything
from .protocol import Request

ITERATOR_LIMIT = 1000


@dataclass(slots=True)
class Execution:
    """What one execution left behind.

    inputs: the very objects passed to the callable
    leaves: inputs whose gradients are observed, with their paths
    where:  the part in which it stopped
    error:  what stopped it; an ``Invalid`` when that was outside the callable
    leaf:   how the inputs got their grad
    refused: what the compiler refused inside calls of ``drive``, as ``faults.describe``; where the run returned, the program caught it
    known:  digests of large inputs, parameters and buffers before the call, by ``id``
    """

    program: Program | None = None
    inputs: Sequence[Any] = ()
    leaves: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    result: Any = None
    where: str = "import"
    error: BaseException | None = None
    leaf: str = "leaf"
    timings: dict[str, float] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)
    known: dict[int, str] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """``returned``, ``raised`` or ``invalid``."""
        if self.error is None:
            return "returned"
        return "invalid" if isinstance(self.error, Invalid) else "raised"


def execute(request: Request, leaf: str, mode: contextlib.AbstractContextManager[Any] | None = None) -> Execution:
    """Execute the program of ``request`` once; never raises what the program raises.

    ``mode`` (a dispatch mode) covers call, drive and backward.
    """
    run = Execution(leaf=leaf)
    names = dict(vars(builtins))
    try:
        with _stance(request):
            _prepare(run, request)
            with mode if mode is not None else contextlib.nullcontext():
                _exercise(run, request)
    except BaseException as error:
        run.error = error
    vars(builtins).update(names)  # what a program patched there must not reach the observation
    return run


def traced(_: Any, request: Request, recorder: Callable[[str], Any]) -> dict[str, Any]:
    """The document of action ``trace``: the program run eagerly inside ``recorder(filename)``, and what that recorded."""
    eager = dataclasses.replace(request, backend=None)
    recording = recorder(request.filename)
    run = execute(eager, request.leaf, recording)
    error = run.error.cause or run.error if isinstance(run.error, Invalid) else run.error
    return {
        "outcome": run.outcome,
        "where": run.error.where if isinstance(run.error, Invalid) else run.where,
        "exception": None if error is None else faults.describe(error, request.filename),
        "values": recording.values,
        "lines": recording.lines,
        "inputs": [recording.describe(v) if isinstance(v, torch.Tensor) else type(v).__name__ for v in run.inputs],
        "returned": [recording.describe(t) for _, t in gradients.tensors_in(run.result, "return")],
    }


def _prepare(run: Execution, request: Request) -> None:
    seed = int(request.configuration.get("seed", 0))
    device = str(request.configuration.get("device", "cpu"))
    with _timed(run, "import"):
        seed_everything(seed)
        run.program = load(request.source, request.filename, folder=request.folder, argv=request.argv)
    run.where = "get_inputs"
    with _timed(run, "inputs"):
        run.inputs = run.program.inputs()
        if device != "cpu":
            run.inputs = _moved(run.program, run.inputs, device)
        if request.configuration.get("grad"):
            run.inputs, run.leaves = gradients.require(run.inputs, run.leaf)
        else:
            run.leaves = [(p, t) for p, t in gradients.tensors_in(run.inputs, "inputs") if t.requires_grad and t.is_leaf]
    with undisturbed():
        run.known = digests([t for _, t in gradients.tensors_in(run.inputs, "inputs")] + [t for *_, t in tensors_of(run.program)])
    seed_everything(seed)


def _exercise(run: Execution, request: Request) -> None:
    assert run.program is not None
    run.where = "call"
    function = run.program.function
    with contextlib.ExitStack() as watch:
        if request.backend is not None:
            function = configuration.compiled(function, request)
            if run.program.drive is not None:  # without one, what is raised ends the run
                function, run.refused = watch.enter_context(refusals.watched(function, request.filename))
        with _timed(run, "call"):
            run.result = _settled(_drive(run.program.drive, function, run.inputs))
            wait_for_device()
    if request.configuration.get("grad"):
        run.where = "backward"
        with _timed(run, "backward"):
            gradients.backward(run.result)
            wait_for_device()
        run.where = "call"


def wait_for_device() -> None:
    """Wait for what runs on a GPU: its kernels run asynchronously, and what one raises would show at some later call."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()


def _drive(drive: Callable[..., Any] | None, function: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    return function(*inputs) if drive is None else drive(function, inputs)


class Drained(list[Any]):
    """The items of a lazy result. Dynamo gives another class of iterator for a generator, a map or a zip; the items are what counts."""


def _settled(result: Any) -> Any:
    """An iterator's items instead of the iterator, also inside containers: what a lazy result computes belongs to the call."""
    if issubclass(type(result), collections.abc.Iterator):
        return _drained(result) if _is_lazy(result) else [type(result).__name__, *itertools.islice(result, ITERATOR_LIMIT)]
    if any(_is_lazy(leaf) for leaf in _pytree.tree_leaves(result)):
        return _pytree.tree_map_only(_is_lazy, _drained, result)
    return result


def _is_lazy(value: Any) -> bool:
    """One of Python's own iterators; those of a program's classes have state to look at."""
    return issubclass(type(value), collections.abc.Iterator) and type(value).__module__ in ("builtins", "itertools")


def _drained(iterator: collections.abc.Iterator[Any]) -> Drained:
    return Drained(itertools.islice(iterator, ITERATOR_LIMIT))


def _moved(program: Program, inputs: Sequence[Any], device: str) -> Sequence[Any]:
    if isinstance(program.function, torch.nn.Module):
        program.function.to(device)
    storages: dict[int, torch.UntypedStorage] = {}
    done: dict[int, torch.Tensor] = {}

    def move(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "cpu":
            return tensor
        if id(tensor) not in done:
            moved = gradients.same_layout(tensor.detach(), device, storages)
            done[id(tensor)] = moved.requires_grad_(tensor.requires_grad)
        return done[id(tensor)]

    return _pytree.tree_map_only(torch.Tensor, move, inputs)  # type: ignore[no-any-return]


def _stance(request: Request) -> contextlib.AbstractContextManager[Any]:
    """Eager runs stay eager even where the program itself calls torch.compile."""
    if request.backend is None and ("torch._dynamo" in sys.modules or "compile" in request.source):
        return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]
    return contextlib.nullcontext()


@contextlib.contextmanager
def _timed(run: Execution, name: str) -> collections.abc.Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        run.timings[name] = round(time.perf_counter() - start, 6)
