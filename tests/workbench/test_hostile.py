"""What hostile programs (hostile.py) achieve: nothing gets out, no other verdict changes, nothing is left that could slow the next check.

Each runs on the same server, between two looks at everything around it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostile import HOSTILE, SLEEPER, Hostile

from store import open_store
from store.records import Configuration, Outcome, Program
from workbench.environment import header_folder
from workbench.oracle.judge import Demand, Judge
from workbench.runner import layers
from workbench.runner.protocol import Limits, Request
from workbench.runner.table import children
from workbench.servers import Pool, Run

pytestmark = pytest.mark.torch

SECRET = "sk-of-the-host-and-nobody-else"

AGREES = "import torch\ndef fn(x):\n    return (x * 2).sum()\ndef get_inputs():\n    return [torch.arange(6.0)]\n"
DIFFERS = "import torch\ndef fn(x):\n    return x + torch.compiler.is_compiling()\ndef get_inputs():\n    return [torch.ones(2)]\n"


@dataclass(frozen=True, slots=True)
class Given:
    """A pool that answers every request with the same run."""

    answer: Run

    def run(self, request: Request) -> Run:
        return self.answer


@dataclass(frozen=True, slots=True)
class World:
    """A server and everything around it that a run might touch."""

    pool: Pool
    folder: Path
    places: tuple[object, ...]
    heard: list[str]

    def request(self, hostile: Hostile) -> Request:
        """The program as a request; a user's own lies in its folder."""
        source = hostile.source(self.places)
        limits = Limits(**{"seconds": 20, **hostile.limits})  # type: ignore[arg-type]
        if hostile.profile == "untrusted":
            return Request("run", source, limits=limits)
        path = self.folder / "own" / "program.py"
        path.write_text(source)
        return Request("run", source, filename=str(path), profile="own", folder=str(path.parent), limits=limits)

    def verdicts(self) -> list[tuple[Outcome, str]]:
        """What two programs are told that have nothing to do with the hostile one."""
        judge, demand = Judge(self.pool), Demand(stage=False, confirm=False)
        found = [judge.check(Program(source, Configuration(backend="eager")), demand=demand) for source in (AGREES, DIFFERS)]
        return [(verdict.outcome, verdict.reason) for verdict in found]

    def state(self) -> dict[str, object]:
        """All that must be the same before and after a run."""
        (server,) = self.pool._all
        pid = server._process.pid
        warden = set(children(pid))
        nests = [init for process in warden for keeper in children(process) for init in children(keeper)]
        return {
            "server": (pid, warden),
            "processes of runs": [below for init in nests for below in children(init)],
            "sleepers": [path for path in Path("/proc").glob("[0-9]*/cmdline") if SLEEPER in text_of(path)],
            "files": contents(self.folder),
            "scratch": [path.name for path in server._folder.glob("run-*")],
            "traces": [path for place in ("/tmp", "/var/tmp", "/dev/shm", "/etc", "/usr/lib") for path in Path(place).glob("trace*")],
            "segments": [text_of(Path("/proc/sysvipc") / kind) for kind in ("shm", "msg")],
            "machine": os.uname().nodename,
            "heard": [*self.heard],
        }


def text_of(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def contents(folder: Path) -> dict[str, object]:
    """Every file beneath a folder: mode, time of change and what is in it (of large ones the size)."""
    found: dict[str, object] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        seen = path.lstat()
        small = path.is_file() and seen.st_size < 1 << 20
        inside = hashlib.sha256(path.read_bytes()).hexdigest() if small else seen.st_size
        found[str(path)] = (oct(seen.st_mode), seen.st_mtime_ns, inside, os.listxattr(path, follow_symlinks=False))
    return found


@contextlib.contextmanager
def ears(heard: list[str], folder: str) -> Iterator[tuple[int, str, str]]:
    """Listeners of the host: a TCP port, an abstract and a named Unix socket; whoever connects is put down in ``heard``."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as named:
        name, path = f"workbench-{os.getpid()}", f"{folder}/socket"
        abstract.bind("\0" + name)
        named.bind(path)

        def listen(ear: socket.socket, kind: str) -> None:
            with contextlib.suppress(OSError):
                while True:
                    ear.accept()
                    heard.append(kind)

        for ear, kind in ((tcp, "tcp"), (abstract, "abstract"), (named, "named")):
            ear.listen()
            threading.Thread(target=listen, args=(ear, kind), daemon=True).start()
        yield tcp.getsockname()[1], name, path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A server in a home of its own; a key is in its parents' environment."""
    folder = tmp_path_factory.mktemp("world")
    for name in ("home", "own", "outside"):
        (folder / name).mkdir()
    (folder / "home" / "private").write_text(SECRET)
    (folder / "own" / "program.py").touch()
    with open_store(folder / "store.db"):
        pass
    headers = folder / "cache" / "torch-compile-workbench" / "headers"
    shutil.copytree(header_folder(), headers, ignore_dangling_symlinks=True)
    heard: list[str] = []
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(dir="/run" if os.access("/run", os.W_OK) else None) as short,
        ears(heard, short) as (port, abstract, named),
        subprocess.Popen(["sleep", "3600"], env={"OPENAI_API_KEY": SECRET, "PATH": os.environ["PATH"]}) as bystander,
    ):
        patch.setenv("OPENAI_API_KEY", SECRET)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("HOME", str(folder / "home"))
        places = (str(folder / "home"), str(folder / "store.db"), str(folder / "outside"), str(Path(layers.__file__).parent), str(headers))
        try:
            with Pool() as pool:
                missing = pool.environment()["missing"]
                if missing:
                    pytest.skip(f"this machine lacks {', '.join(missing)}")  # test_sandbox says what still holds
                assert pool.run(Request("run", AGREES, backend="inductor", configuration={"backend": "inductor"})).status == "ok"
                yield World(pool, folder, (*places, port, abstract, named), heard)
        finally:
            bystander.kill()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_costs_its_own_verdict_and_nothing_else(world: World, name: str) -> None:
    hostile = HOSTILE[name]
    request = world.request(hostile)
    before = world.state()
    done = world.pool.run(request)
    assert world.state() == before
    assert world.verdicts() == [(Outcome.AGREE, "same in everything observed"), (Outcome.MISMATCH, "return differs in 2 elements")]
    assert done.status in hostile.ends.split(), (done, done.output)
    assert len(done.output) <= request.limits.output_kb * 1024
    assert SECRET not in done.output
    assert hostile.prints is None or re.fullmatch(hostile.prints, done.output), done.output
    if done.status != "ok":
        assert done.detail
        assert Judge(Given(done)).check(Program(request.source)).outcome is Outcome.UNDECIDED


def test_a_bug_is_still_found_after_a_cache_was_poisoned(world: World) -> None:
    assert world.pool.run(world.request(HOSTILE["poisons every cache it can name"])).status == "ok"
    assert Judge(world.pool).check(Program(AGREES)).outcome is Outcome.AGREE
    assert Judge(world.pool).check(Program(DIFFERS), demand=Demand(stage=False)).outcome is Outcome.MISMATCH
