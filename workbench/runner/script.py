"""Script form (DESIGN §2): the file runs once as a person runs it, every outermost compiled call is recorded, nothing else decides.

A file is taken for a script when its text does not define get_inputs with fn or Model; how it ran then decides: with harness form, or
without any compiled call, it is no script after all.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections import Counter
from typing import Any

from . import asserts, faults, testcase
from .bounds import Bounds, patience, wanted, wide
from .calls import Recording
from .exercise import Execution
from .intercept import Interceptor
from .modes import Restore
from .nudge import Nudge
from .observe import Recorder
from .program import Anew, Invalid, prepare, seed_everything
from .protocol import Request
from .reference import add_images
from .results import document_of, result
from .shadow import Shadow

WANTED = (
    "no compiled call is made, and the file defines neither fn nor class Model(nn.Module) with get_inputs(): "
    "a program has that form, or calls torch.compile itself and calls what comes back"
)


def answer(request: Request) -> tuple[dict[str, Any], bytes] | None:
    """The result of a run, shadow or nudge request on a script; None when the file is none and has to be taken in harness form."""
    if request.action not in ("run", "shadow", "nudge") or not (request.options.get("test") or may_be_script(request.source)):
        return None
    try:
        return _nudged(request) if request.action == "nudge" else _recorded(request)
    except Invalid as error:
        return result(Execution(error=error), request)


def may_be_script(source: str) -> bool:
    """Whether a text lacks what a program in harness form has; only its execution says for sure."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
    return "get_inputs" not in names or not names & {"fn", "Model"}


def _recorded(request: Request) -> tuple[dict[str, Any], bytes] | None:
    mode = _asleep(Shadow) if request.action == "shadow" else None

    def look(recorder: Recorder, number: int) -> None:
        if mode is not None:
            add_images(recorder, mode)

    with contextlib.ExitStack() as undo:
        undo.enter_context(Restore())
        undo.enter_context(Anew(request.folder))
        script = _Script(request, mode, look)
        error = script.run()
        if script.is_harness:
            return None
        undo.pop_all()
    script.check(error)
    document = document_of(Execution(where="call"), request)
    document["calls"] = script.recording.finish()
    document["facts"].update(form="script", dropped=script.recording.dropped, ended=None if error is None else _ended(error, request))
    if mode is not None:
        document["facts"].update(mode.facts, plan=mode.plan)
        document["warnings"] = mode.warnings
    return document, bytes(script.recording.blobs)


def _nudged(request: Request) -> tuple[dict[str, Any], bytes] | None:
    """Bounds of every leaf of every call over the seeds."""
    found: dict[tuple[int, str], Bounds] = {}
    counts: Counter[str] = Counter(returned=0, failed=0, structure=0)
    time_left = patience(request)
    for seed in request.seeds:
        if not time_left():
            break
        counts["seeds"] += 1
        mode = _asleep(Nudge, seed, request.options.get("plan") or [])
        with Restore(), Anew(request.folder):
            values: dict[tuple[int, str], Bounds] = {}

            def look(recorder: Recorder, number: int, into: dict[tuple[int, str], Bounds] = values) -> None:
                for leaf in recorder.leaves:
                    if leaf.plain is not None and wanted(leaf, request):
                        into[number, leaf.path] = Bounds(leaf, wide(leaf.plain).clone())

            script = _Script(request, mode, look, keep_bytes=False)
            error = script.run()
            if script.is_harness:
                return None
            script.check(error)
            script.recording.finish()
        counts["returned"] += 1
        counts.update({f"nodes {k}": v for k, v in mode.counts.items() if k != "nodes"})
        for key, bounds in values.items():
            if key not in found:
                found[key] = bounds
            elif found[key].low.shape == bounds.low.shape:
                found[key].add(bounds.low)
            else:
                counts["structure"] += 1
    return _bounds_document(request, found, counts)


def _bounds_document(request: Request, found: dict[tuple[int, str], Bounds], counts: Counter[str]) -> tuple[dict[str, Any], bytes]:
    document = document_of(Execution(where="call"), request)
    document["facts"].update(form="script", nudge=dict(counts))
    recorder = Recorder()
    calls: list[dict[str, Any]] = []
    for (number, _), bounds in found.items():
        while len(calls) < number:
            calls.append({"outcome": "returned", "leaves": []})
        places = {name: recorder.blob(getattr(bounds, name)) for name in ("low", "high", "nan")}
        calls[number - 1]["leaves"].append({**bounds.entry, **places})
    document["calls"] = calls
    return document, bytes(recorder.blobs)


class _Script:
    """One execution of a script."""

    def __init__(self, request: Request, mode: Any, look: Any, *, keep_bytes: bool = True) -> None:
        self._request = request
        self._mode = mode
        self._test = str(request.options.get("test") or "")
        self._strict = bool(request.options.get("asserts", True))
        tree = None if self._strict else asserts.without(ast.parse(request.source))
        name = "__workbench_test__" if self._test else "__main__"
        seed_everything(int(request.configuration.get("seed", 0)))
        self._code, self._module = prepare(request.source, request.filename, request.folder, request.argv, name, tree)
        self.recording = Recording(self._module, request.filename, look, keep_bytes=keep_bytes)
        if mode is not None:
            self.recording.wake = lambda: setattr(mode, "awake", True)

    def run(self) -> BaseException | None:
        """Execute; what ended it, None when it ran to its end."""
        names = dict(vars(builtins))
        try:
            with Interceptor(self._request, self.recording), self._mode or contextlib.nullcontext(), self._lenient():
                exec(self._code, vars(self._module))
                if self._test:
                    testcase.run(self._module, self._test)
        except BaseException as error:
            return error
        finally:
            vars(builtins).update(names)
        return None

    def _lenient(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._strict else asserts.told_only()

    @property
    def is_harness(self) -> bool:
        """The file turned out to define what a program in harness form has, or part of it and no compiled call."""
        names = vars(self._module)
        callable_, inputs = "fn" in names or "Model" in names, "get_inputs" in names
        if self._test:  # what a test is reduced to is a program
            return callable_ and inputs and self._test.partition("::")[0] not in names
        return (callable_ and inputs) or (not self.recording.calls and (callable_ or inputs))

    def check(self, error: BaseException | None) -> None:
        """``Invalid`` when there is nothing to judge."""
        if self.recording.calls:
            return
        if isinstance(error, Invalid):
            raise error
        if error is not None:
            what = "the test" if self._test else "the file"
            raise Invalid("import", f"{what} raised {type(error).__name__} before any compiled call", error)
        raise Invalid("import", f"the test {self._test} makes no compiled call" if self._test else WANTED)


def _ended(error: BaseException, request: Request) -> dict[str, Any]:
    """How a script ended early; its own asserts and exits are told and decide nothing."""
    told = faults.describe(error, request.filename)
    return {"class": told["class"], "message": told["message"][:500], "line": told["line"]}


def _asleep(kind: Any, *arguments: Any) -> Any:
    """A dispatch mode that does nothing until ``awake``: what a script prepares before its first compiled call is given, not computed."""

    class Asleep(kind):  # type: ignore[misc]
        awake = False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not self.awake:
                return func(*args, **(kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)

    return Asleep(*arguments)
