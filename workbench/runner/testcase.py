"""One test of a test file, run for its compiled calls: unittest style, or a plain function or method as pytest collects it."""

from __future__ import annotations

import inspect
import itertools
import types
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from .program import Invalid


def run(module: types.ModuleType, name: str) -> None:
    """Run ``Class::test`` or ``test``; raises what the test raises, ``Invalid`` when there is no such test or it cannot be run so."""
    *owners, method = name.split("::")
    if len(owners) > 1 or "[" in method:
        raise Invalid("import", f"{name}: name a test as Class::test or test; all its parameters are run")
    if not owners:
        _call(_find(module, method, name), name)
        return
    kind = _find(module, owners[0], name)
    if not isinstance(kind, type):
        raise Invalid("import", f"{owners[0]} is no class")
    _find(kind, method, name)
    if issubclass(kind, unittest.TestCase):
        _unittest(kind, method)
        return
    instance = kind()
    test, prepare = getattr(instance, method), getattr(instance, "setup_method", None)
    if callable(prepare):
        prepare(*[test][: len(inspect.signature(prepare).parameters)])
    _call(test, name)


def _find(owner: Any, name: str, whole: str) -> Any:
    found = getattr(owner, name, None)
    if found is None:
        near = sorted(n for n in dir(owner) if n.lower().startswith("test"))[:8]
        raise Invalid("import", f"there is no test {whole}" + (f"; there are {', '.join(near)}" if near else ""))
    return found


def _unittest(kind: type[unittest.TestCase], method: str) -> None:
    outcome = unittest.TestResult()
    unittest.TestSuite([kind(method)]).run(outcome)
    for _, reason in outcome.skipped:
        raise Invalid("import", f"the test skips itself: {reason}")
    for _, text in (*outcome.errors, *outcome.failures):
        raise AssertionError(text.strip().splitlines()[-1])


def _call(test: Callable[..., Any], name: str) -> None:
    for chosen in _parameters(test):
        missing = [
            p.name
            for p in inspect.signature(test).parameters.values()
            if p.default is p.empty and p.name not in chosen and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
        if missing:
            raise Invalid("import", f"{name} wants the fixtures {', '.join(missing)}; only tests without fixtures can be run here")
        try:
            test(**chosen)
        except BaseException as error:
            if type(error).__name__ in ("Skipped", "SkipTest"):
                raise Invalid("import", f"the test skips itself: {error}") from error
            raise


def _parameters(test: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The sets of arguments that ``pytest.mark.parametrize`` gives a test, read off its marks."""
    sets: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", ()):
        if getattr(mark, "name", "") != "parametrize":
            continue
        names, values = mark.args[:2]
        split = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
        rows = [getattr(v, "values", v) if hasattr(v, "marks") else (v,) if len(split) == 1 else v for v in values]
        sets.append([dict(zip(split, row, strict=True)) for row in rows])
    for chosen in itertools.product(*sets):
        yield {name: value for row in chosen for name, value in row.items()}
