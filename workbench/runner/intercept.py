"""Stands between a script and torch.compile: which outermost compiled call begins and ends, how it is compiled, when gradients were computed.

Compiled calls go through torch's real wrappers. Nothing is compiled, executed or copied that the script would not.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import torch
import torch._dynamo
from torch._dynamo import eval_frame, external_utils

from . import configuration
from .protocol import Request

GROUPS = ("inductor", "dynamo")


class Listener(Protocol):
    """Hears of the script's outermost compiled calls, in order, and of the gradients it computes outside them."""

    def begin(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], how: Mapping[str, Any]) -> Any:
        """A call begins; the answer is handed to ``returned`` or ``raised``."""
        ...

    def returned(self, call: Any, result: Any) -> None:
        """The call returned."""
        ...

    def raised(self, call: Any, error: BaseException) -> None:
        """The call raised; the exception goes on to the script."""
        ...

    def backward(self) -> None:
        """``torch.autograd.backward`` has run outside a compiled call."""
        ...

    def gradients(self, found: Any) -> None:
        """``torch.autograd.grad`` has returned this outside a compiled call."""
        ...


class Interceptor:
    """While entered, compiled calls are told to ``listener``; eager runs (no backend) run them under the stance ``force_eager``.

    ``request.options["override"]`` names the keys of the configuration that replace what the script itself says, call by call.
    """

    def __init__(self, request: Request, listener: Listener) -> None:
        self._request = request
        self._listener = listener
        self._override = frozenset(request.options.get("override", ()))
        self._depth = 0
        self._how: dict[str, Any] | None = None
        self._undo = contextlib.ExitStack()
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        if request.backend is not None and "backend" in self._override:
            configuration.check_backend(request.backend)

    def __enter__(self) -> None:
        self._replace(torch, "compile", self._compile)
        self._replace(torch._dynamo, "optimize", self._optimize)
        self._replace(torch._dynamo, "optimize_assert", self._optimize)
        self._replace(eval_frame.OptimizeContext, "__call__", self._wrap)
        self._replace(torch.autograd, "backward", self._backward)
        self._replace(torch.autograd, "grad", self._grad)
        self._install(ours=True)
        if self._request.backend is None:
            self._undo.enter_context(torch.compiler.set_stance("force_eager"))

    def __exit__(self, *_: object) -> None:
        self._undo.close()
        self._install(ours=False)

    def _replace(self, owner: Any, name: str, maker: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        made: Any = functools.wraps(original)(maker(original))
        eval_frame.skip_code(made.__code__)
        self._replaced.append((owner, name, original, made))

    def _install(self, *, ours: bool) -> None:
        """Ours outside compiled calls, torch's own inside: what Dynamo traces must be what it knows."""
        for owner, name, original, made in self._replaced:
            setattr(owner, name, made if ours else original)

    def _compile(self, original: Any) -> Any:
        def compile(model: Any = None, **said: Any) -> Any:  # noqa: A001 - stands for torch.compile
            said = self._overridden(said)
            if model is None:  # the decorator that comes back calls torch.compile again
                return original(model, **said)
            prior, self._how = self._how, how(said)
            try:
                return original(model, **said)
            finally:
                self._how = prior

        return compile

    def _optimize(self, original: Any) -> Any:
        def optimize(*args: Any, **said: Any) -> Any:
            if self._how is not None:  # on behalf of torch.compile
                return original(*args, **said)
            if args:
                said["backend"], args = args[0], args[1:]
            if self._request.backend is not None and "backend" in self._override:
                said["backend"] = self._request.backend
            told = how({"backend": said.get("backend"), "dynamic": said.get("dynamic"), "fullgraph": said.get("nopython")})
            context = original(*args, **said)
            if isinstance(context, eval_frame.OptimizeContext):
                context._workbench_how = told  # type: ignore[attr-defined]
            return context

        return optimize

    def _overridden(self, said: dict[str, Any]) -> dict[str, Any]:
        """The arguments of torch.compile with what the configuration overrides; eager runs keep the script's own."""
        wanted = self._request.backend
        if wanted is None:
            return said
        chosen, changed = self._request.configuration, dict(said)
        if "backend" in self._override and backend_name(said.get("backend")) != wanted:
            changed["backend"] = wanted
            for name in ("mode", "options"):  # another backend's
                changed.pop(name, None)
        if "mode" in self._override and backend_name(changed.get("backend")) == "inductor":
            changed.pop("options", None)
            changed["mode"] = chosen.get("mode")
        for name in ("dynamic", "fullgraph"):
            if name in self._override:
                changed[name] = chosen.get(name)
        if changed.get("options"):
            changed["options"] = {**changed["options"], **self._patches("inductor")}
        return changed

    def _patches(self, group: str) -> dict[str, Any]:
        return {**(self._request.configuration.get(group) or {}), **(self._request.patches.get(group) or {})}

    def _wrap(self, original: Any) -> Any:
        def wrap(context: Any, function: Any) -> Any:
            made = original(context, function)
            told = vars(context).setdefault("_workbench_how", self._how or {})
            if getattr(context, "export", False) or isinstance(made, torch.nn.Module) or inspect.isclass(made):
                return made  # a module's forward and a class's methods come here by themselves
            return self._recorded(made, _meant(getattr(made, "_torchdynamo_orig_callable", function)), told)

        return wrap

    def _recorded(self, made: Callable[..., Any], function: Callable[..., Any], told: Mapping[str, Any]) -> Callable[..., Any]:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            if self._depth:
                return made(*args, **kwargs)
            return self._outermost(made, function, told, args, kwargs)

        wrapper: Any = functools.wraps(made)(recorded)
        wrapper._torchdynamo_wrapper_id = id(wrapper)
        eval_frame.skip_code(wrapper.__code__)
        return wrapper  # type: ignore[no-any-return]

    def _outermost(
        self, made: Callable[..., Any], function: Callable[..., Any], told: Mapping[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._depth += 1
        try:
            call = self._listener.begin(function, args, kwargs, told)
            try:
                with self._stance(), self._originals():
                    result = made(*args, **kwargs)
            except BaseException as error:
                self._listener.raised(call, error)
                raise
            self._listener.returned(call, result)
            return result
        finally:
            self._depth -= 1

    @contextlib.contextmanager
    def _originals(self) -> Iterator[None]:
        self._install(ours=False)
        try:
            yield
        finally:
            self._install(ours=True)

    def _stance(self) -> contextlib.AbstractContextManager[Any]:
        """Per call, whatever stance or options the script has set since."""
        if self._request.backend is None:
            return torch.compiler.set_stance("force_eager")  # type: ignore[no-any-return]
        for group in GROUPS:
            if patches := self._patches(group):
                configuration.patch(group, patches)
        return contextlib.nullcontext()

    def _backward(self, original: Any) -> Any:
        def backward(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self._depth:
                self._listener.backward()
            return result

        return backward

    def _grad(self, original: Any) -> Any:
        def grad(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if not self._depth:
                self._listener.gradients(result)
            return result

        return grad


def _meant(function: Any) -> Any:
    """The callable itself where Dynamo put a function with a frame of its own around it (torch.sin, torch.nn.Linear)."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename == external_utils.__file__:
        return getattr(function, "__wrapped__", function)
    return function


def how(said: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of torch.compile in the words of a configuration."""
    told: dict[str, Any] = {
        "backend": backend_name(said.get("backend")),
        "dynamic": said.get("dynamic"),
        "fullgraph": bool(said.get("fullgraph")),
    }
    if said.get("mode"):
        told["mode"] = str(said["mode"])
    options = {k: v for k, v in (said.get("options") or {}).items() if isinstance(v, bool | int | float | str)}
    return {**told, "inductor": options} if options else told


def backend_name(backend: Any) -> str:
    """``inductor`` for None, the name of a callable backend."""
    if backend is None:
        return "inductor"
    return backend if isinstance(backend, str) else getattr(backend, "__name__", type(backend).__name__)
