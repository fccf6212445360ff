"""A program as an executed file: its callable, inputs and drive. The source is executed anew for every run, so runs share nothing."""

from __future__ import annotations

import ast
import linecache
import os
import random
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

MODULE_NAME = "__workbench_program__"


class Invalid(Exception):
    """The program fails outside its callable, or has none (verdict ``invalid``).

    where: ``import``, ``get_inputs`` or ``constructor``
    cause: what the program raised; None when something is missing, then the message says what
    line:  line in the program file when known
    """

    def __init__(self, where: str, message: str, cause: BaseException | None = None, line: int | None = None, name: str = "") -> None:
        super().__init__(message)
        self.where = where
        self.cause = cause
        self.line = line
        self.name = name


@dataclass(slots=True)
class Program:
    """One executed program file.

    module:     where its globals live
    function:   the callable under test, uncompiled
    get_inputs: None when the file has none
    drive:      how the callable is exercised; None means ``fn(*inputs)``
    """

    module: types.ModuleType
    function: Callable[..., Any]
    drive: Callable[..., Any] | None

    def inputs(self) -> Sequence[Any]:
        """Fresh positional arguments: the very list or tuple that ``get_inputs`` returned."""
        maker = vars(self.module).get("get_inputs")
        if not callable(maker):
            raise Invalid("get_inputs", "the program has no get_inputs()")
        try:
            inputs = maker()
        except BaseException as error:
            raise Invalid("get_inputs", f"get_inputs() raised {type(error).__name__}", error) from error
        if type(inputs) is not list and type(inputs) is not tuple:
            raise Invalid("get_inputs", f"get_inputs() returned {type(inputs).__name__}, wanted a list or tuple of positional arguments")
        return inputs


def seed_everything(seed: int) -> None:
    """Seed torch, random and numpy (numpy only where it is installed)."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def load(source: str, filename: str, *, folder: str | None = None, argv: Sequence[str] = ()) -> Program:
    """Execute a program file and find its callable; ``Invalid`` says where and why that failed."""
    module = _execute(source, filename, folder, argv)
    names = vars(module)
    drive = names.get("drive")
    if drive is not None and not callable(drive):
        raise Invalid("import", "drive is not callable")
    return Program(module, _find_callable(names), drive)


def _execute(source: str, filename: str, folder: str | None, argv: Sequence[str]) -> types.ModuleType:
    code, module = prepare(source, filename, folder, argv)
    try:
        exec(code, vars(module))
    except BaseException as error:
        raise Invalid("import", f"the file raised {type(error).__name__} when executed", error) from error
    return module


def prepare(
    source: str, filename: str, folder: str | None, argv: Sequence[str], name: str = MODULE_NAME, tree: ast.Module | None = None
) -> tuple[types.CodeType, types.ModuleType]:
    """The compiled file and the module to execute it in, with cwd, ``sys.path`` and ``sys.argv`` as the file expects them; ``Invalid``.

    ``tree``: what to execute instead of the source, of the same lines
    """
    try:
        code = compile(tree or source, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Invalid("import", f"syntax error: {error.msg}", error, error.lineno) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Invalid("import", f"does not compile as Python: {error}", error) from error
    if folder is not None:
        os.chdir(folder)
        sys.path[:] = [folder, *(p for p in sys.path if p not in (folder, ""))]
    place = filename if folder is None else os.path.join(folder, os.path.basename(filename))
    sys.argv = [place, *argv]
    # inspect.getsource and tracebacks read from here; without a modification time checkcache leaves the entry alone.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    module = types.ModuleType(name)
    module.__file__ = place
    sys.modules[name] = module  # dataclasses, typing and pickle look a class's module up here
    if folder is not None:
        sys.modules["__main__"] = module  # a checkpoint saved by this very script names its classes so
    return code, module


def _find_callable(names: dict[str, Any]) -> Callable[..., Any]:
    if "fn" in names:
        function = names["fn"]
        if not callable(function):
            raise Invalid("import", f"fn is {type(function).__name__}, not callable")
        return function  # type: ignore[no-any-return]
    model = names.get("Model")
    if model is None:
        raise Invalid("import", "the program defines neither fn nor class Model(nn.Module)")
    if not (isinstance(model, type) and issubclass(model, torch.nn.Module)):
        raise Invalid("import", "Model is not a class derived from torch.nn.Module")
    return _construct(model, names.get("get_init_inputs"))


def _construct(model: type[torch.nn.Module], maker: Any) -> torch.nn.Module:
    try:
        arguments = maker() if callable(maker) else ()
        if isinstance(arguments, dict):
            return model(**arguments)
        return model(*arguments)
    except BaseException as error:
        raise Invalid("constructor", f"Model(...) raised {type(error).__name__}", error) from error


class Anew:
    """After it, an execution in the same process imports modules of the program's own folder anew and may define the same operators."""

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self.before: set[str] = set()

    def __enter__(self) -> None:
        self.before = set(sys.modules)

    def __exit__(self, *_: object) -> None:
        module = sys.modules.get(MODULE_NAME)
        for value in list(vars(module).values()) if module is not None else ():
            if type(value) is torch.library.Library:
                value._destroy()  # type: ignore[no-untyped-call]
        for name in set(sys.modules) - self.before:
            file = str(getattr(sys.modules[name], "__file__", None) or "")
            if name == MODULE_NAME or (self.folder is not None and file.startswith(self.folder + os.sep)):
                del sys.modules[name]
