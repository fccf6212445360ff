"""``workbench doctor``: what this machine has, what is missing and what to do, on one screen."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from store.records import JSON
from workbench.commands.options import database, db_option, emit, json_option
from workbench.environment import header_folder, linker
from workbench.errors import RunnerError, WorkbenchError
from workbench.runner.layers import LAYERS

GIGABYTE = 1 << 30

REMEDIES = {
    "user namespace": "sysctl kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0; in a container: allow unshare",
    "landlock": "a kernel from 5.13 with landlock among its security modules (/sys/kernel/security/lsm)",
    "landlock signals": "a kernel from 6.12",
    "read-only files": "a kernel from 5.12",
    "process limit": "run as an ordinary user, or a kernel from 6.14",
    "single thread": "see which library starts a thread at import",
}
"""What to do about a layer; the other namespaces come with the first."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the screen.

    state: ok | warning (works, with less) | missing (programs cannot be judged)
    hint:  what to do, empty when all is well
    """

    name: str
    state: str
    detail: str
    hint: str = ""


@click.command(name="doctor", short_help="Say what this machine has, what is missing and what to do.")
@click.option("--python", type=click.Path(), help="Interpreter with the torch to look at (default: this one).")
@db_option
@json_option
def command(*, python: str | None, db: str | None, as_json: bool) -> int:
    """Say what this machine has, what is missing and what to do.

    Exit code: 0 programs can be judged, 3 they cannot.
    """
    checks, environment = _runner(python)
    checks += [_headers(), _store(db), *_space(), _llm()]
    broken = any(check.state == "missing" for check in checks)
    if as_json:
        emit({"ok": not broken, "checks": [asdict(check) for check in checks], "environment": environment})
    else:
        _print(checks)
    return 3 if broken else 0


def _runner(python: str | None) -> tuple[list[Check], dict[str, JSON]]:
    """What a server of this interpreter says of itself."""
    from workbench.oracle.runs import compiles
    from workbench.servers import Pool

    try:
        with Pool(python=python) as pool:
            found = pool.environment()
            if not found["problem"] and not compiles(pool):  # a server may start with a library that was built before
                found["problem"] = "its compiler or linker no longer works"
    except RunnerError as error:
        return [Check("runner", "missing", error.message, error.hint)], {}
    return [*_torch(found), *_isolation(found["missing"])], found


def _torch(found: dict[str, JSON]) -> Iterator[Check]:
    cuda = f", CUDA {found['cuda']}" if found["cuda"] else ""
    yield Check("torch", "ok", f"{found['torch']}{cuda}, {found['capability']}, in {found['torch_folder']}")
    yield Check("python", "ok", f"{found['python']}, {found['interpreter']}")
    if found["compiler"] is None:
        yield Check("compiler", "missing", found["compiler_version"], "install g++ (or clang), or name one with CXX")
    else:
        yield Check("compiler", "ok", f"{found['compiler']}: {found['compiler_version']}")
        advice = "" if (linker() or "").endswith("mold") else "install mold: the linker takes a quarter of a small compile"
        yield Check("linker", "ok", found["linker"], advice)
    if found["problem"]:
        yield Check("compile", "missing", f"a trivial kernel fails: {found['problem']}", "backends above inductor still work; see the compiler")
    else:
        yield Check("compile", "ok", "a trivial kernel compiles and runs")
    if found["start"]:
        yield Check("runs", "warning", f"each starts a new interpreter: {found['start']}", "slower by the seconds that importing torch takes")
    else:
        yield Check("runs", "ok", "forked from a warm server")
    yield Check("machine", "ok", f"{found['system']}, {found['machine']}, {found['cores']} cores")


def _isolation(missing: list[str]) -> Iterator[Check]:
    for layer, purpose in LAYERS.items():
        if layer not in missing:
            yield Check(layer, "ok", purpose)
        else:
            hint = REMEDIES.get(layer, "" if "user namespace" not in missing else "comes with user namespaces")
            yield Check(layer, "warning", f"missing, so not assured: {purpose}", hint)


def _headers() -> Check:
    try:
        folder = header_folder()
        built = list(folder.rglob("*.gch")) + list(folder.rglob("*.pch"))
        size = sum(file.stat().st_size for file in built) / GIGABYTE
    except OSError as error:
        return Check("headers", "missing", f"{error.filename}: {error.strerror}", "set XDG_CACHE_HOME to a folder of your own")
    if not built:
        return Check("headers", "warning", f"{folder}: none precompiled yet", "the first compile builds one (5 to 20 s)")
    return Check("headers", "ok", f"{folder}: {len(built)}, {size:.1f} GB", "" if size < 4 else "the next check that runs alone removes the oldest")


def _store(db: str | None) -> Check:
    from store.older import is_older
    from store.store import open_store

    try:
        path = database(db)
        if not path.exists():
            if not os.access(path.parent, os.W_OK):
                return Check("store", "missing", f"{path.parent} is not writable", "name a file elsewhere with --db or WORKBENCH_DB")
            return Check("store", "ok", f"{path}: will be created on first use")
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        if is_older(path):
            if not writable:
                hint = "copy it to where it may be written, or --db another"
                return Check("store", "missing", f"{path}: of an older workbench, and read-only", hint)
            return Check("store", "warning", f"{path}: of an older workbench", "the next command that writes upgrades it, as `workbench stats`")
        with open_store(path, readonly=True) as store:
            count = store.count("")
    except WorkbenchError as error:
        return Check("store", "missing", error.message, error.hint)
    if not writable:
        return Check("store", "warning", f"{path}: read-only, {count} findings", "look only, or name another file with --db")
    return Check("store", "ok", f"{path}: {count} findings")


def _space() -> Iterator[Check]:
    for name, folder, needed in (("scratch", Path(tempfile.gettempdir()), 2), ("home", Path.home(), 1)):
        try:
            free = shutil.disk_usage(folder).free / GIGABYTE
        except OSError as error:
            yield Check(name, "warning", f"{folder}: {error.strerror}")
            continue
        full = free < needed
        yield Check(name, "warning" if full else "ok", f"{folder}: {free:.1f} GB free", f"{needed} GB is little" if full else "")


def _llm() -> Check:
    from workbench.llm import secret

    given = {"OPENAI_BASE_URL": os.environ.get("OPENAI_BASE_URL"), secret.NAME: secret.key()}
    said = ", ".join(f"{name} {'set' if value else 'not set'}" for name, value in given.items())
    return Check("llm", "ok", said, "" if any(given.values()) else "only needed for fuzz --llm")


MARKS = {"ok": "ok", "warning": "!!", "missing": "NO"}


def _print(checks: list[Check]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.echo(f"{MARKS[check.state]}  {check.name.ljust(width)}  {check.detail}")
        if check.hint:
            click.echo(f"    {' ' * width}  -> {check.hint}")
    states = [check.state for check in checks]
    click.echo("")
    if "missing" in states:
        click.echo("Programs cannot be judged here: see NO above.")
    else:
        lacking = states.count("warning")
        click.echo("Programs can be judged here." + (f" {lacking} things could be better: see !! above." if lacking else ""))
