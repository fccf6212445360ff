"""The layers of isolation one by one, what still holds without them, and the limits of a run. Programs that attack: test_hostile."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from store.records import Configuration, Outcome, Program
from workbench.commands import doctor
from workbench.oracle.judge import Judge
from workbench.oracle.wording import lines
from workbench.runner import layers
from workbench.runner.protocol import Limits, Request
from workbench.runner.table import descendants
from workbench.servers import Pool, Run

pytestmark = pytest.mark.torch

PROGRAM = """
import ctypes, json, os, signal, socket, subprocess, sys, threading, time
import torch
def fn(x):
{body}
    return x + 1
def get_inputs():
    return [torch.ones(3)]
"""


def program(body: str) -> str:
    """A harness-form program that misbehaves inside the call."""
    return PROGRAM.format(body="\n".join("    " + line for line in body.strip().splitlines()))


def run(pool: Pool, body: str, **limits: float) -> Run:
    return pool.run(Request("run", program(body), limits=Limits(**{"seconds": 20, **limits})))


def healthy(pool: Pool) -> bool:
    done = run(pool, "pass")
    return done.status == "ok" and done.document is not None and done.document["outcome"] == "returned"


def test_output_beyond_the_limit_is_dropped_and_counted(pool: Pool) -> None:
    done = run(pool, "print('a' * 500_000)\nprint('the end')", output_kb=4)
    assert done.output.endswith("the end\n")
    assert len(done.output) == 4096
    assert done.dropped == 500_001 + len("the end\n") - 4096


def test_a_result_larger_than_the_host_holds_is_refused(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.connection.RESULT_MB", 1)
    done = pool.run(Request("run", "import torch\ndef fn(): return torch.ones(1 << 20)\ndef get_inputs(): return []\n"))
    assert done.status == "output"
    assert healthy(pool)


def test_every_layer_is_in_force_or_named(pool: Pool) -> None:
    assert set(run(pool, "pass").missing) <= layers.LAYERS.keys()


def probe(pool: Pool, body: str, **fields: str) -> str:
    """Run a program for what it prints."""
    done = pool.run(Request("run", program(body), limits=Limits(seconds=20), **fields))  # type: ignore[arg-type]
    return done.output.strip()


TRY = "def attempt(f):\n  try: f(); print('done')\n  except OSError as e: print('refused')\n"


def lacks(pool: Pool, *names: str) -> bool:
    return bool(set(run(pool, "pass").missing) & set(names))


def test_an_untrusted_program_writes_only_its_scratch(pool: Pool, tmp_path: Path) -> None:
    if lacks(pool, layers.FILES):
        pytest.skip("this kernel has no Landlock")
    target = tmp_path / "elsewhere"
    assert probe(pool, TRY + f"attempt(lambda: open({str(target)!r}, 'w'))") == "refused"
    assert not target.exists()
    assert probe(pool, TRY + "attempt(lambda: open('here', 'w').write('x'))") == "done"
    assert probe(pool, TRY + "import tempfile\nattempt(lambda: tempfile.NamedTemporaryFile())") == "done"


def test_an_untrusted_program_reads_no_private_file(pool: Pool, tmp_path: Path) -> None:
    if lacks(pool, layers.FILES):
        pytest.skip("this kernel has no Landlock")
    (tmp_path / "private").write_text("secret")
    assert probe(pool, TRY + f"attempt(lambda: print(open({str(tmp_path / 'private')!r}).read()))") == "refused"


def test_an_own_program_reads_its_folder(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "sibling.txt").write_text("checkpoint")
    assert probe(pool, "print(open('sibling.txt').read())", profile="own", folder=str(tmp_path)) == "checkpoint"


def test_a_users_modules_may_be_called_as_ours(pool: Pool, tmp_path: Path) -> None:
    for name in ("store", "program", "server", "child", "protocol", "workbench"):
        (tmp_path / f"{name}.py").write_text("MINE = True\n")
    body = "import store, program, server, child, protocol, workbench\nprint(all(m.MINE for m in (store, program, server, child, protocol, workbench)))"
    assert probe(pool, body, profile="own", folder=str(tmp_path)) == "True"


def test_a_program_reaches_no_network(pool: Pool) -> None:
    if lacks(pool, layers.NETWORK):
        pytest.skip("no network namespaces here")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert probe(pool, TRY + f"attempt(lambda: socket.create_connection(('127.0.0.1', {port}), 2))") == "refused"


def test_a_program_is_nobody_and_stays_it(pool: Pool) -> None:
    if lacks(pool, layers.USERS):
        pytest.skip("no user namespaces here")
    assert probe(pool, "print(os.getuid())") == "65534"
    assert probe(pool, TRY + "attempt(lambda: os.setuid(0))") == "refused"
    assert "0000000000000000" in probe(pool, "print([l for l in open('/proc/self/status') if l.startswith('CapEff')])")
    assert probe(pool, "print(ctypes.CDLL(None).unshare(0x10000000))") == "-1"


def test_a_program_sees_no_process_but_its_own(pool: Pool) -> None:
    if lacks(pool, layers.MOUNTS, layers.PROCESSES):
        pytest.skip("no mount namespaces here")
    assert probe(pool, "print(sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))") == "[1, 2]"


def test_a_program_can_compile_in_its_sandbox(pool: Pool) -> None:
    source = program("pass")
    done = pool.run(Request("run", source, backend="inductor", configuration={"backend": "inductor"}))
    assert done.document is not None
    assert done.document["outcome"] == "returned", done.document["exception"]


def test_a_header_nobody_has_built_does_not_stop_a_compile(pool: Pool) -> None:
    """The header folder is read-only for a run; a flag of its own makes it build one in its scratch."""
    settings = {"inductor": {"cpp.enable_kernel_profile": True}}
    done = pool.run(Request("run", program("pass"), backend="inductor", configuration={"backend": "inductor"}, patches=settings))
    assert done.document is not None
    assert done.document["outcome"] == "returned", done.document["exception"]


@pytest.mark.parametrize("layer", sorted(layers.LAYERS.keys() - layers.OF_SERVERS))
def test_a_run_without_a_layer_works_and_names_it(pool: Pool, layer: str) -> None:
    source = program("if os.fork() == 0:\n  os.setsid()\n  time.sleep(1000)")
    done = pool.run(Request("run", source, options={"without": [layer]}))
    assert done.status == "ok"
    assert layer in done.missing


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param((layers.PROCESSES,), id="no pid namespace", marks=pytest.mark.quality),
        pytest.param((layers.USERS,), id="no user namespace", marks=pytest.mark.quality),
        pytest.param(tuple(layers.LAYERS), id="no layer at all"),
    ],
)
def test_a_machine_without_namespaces_still_ends_its_runs(gone: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-the-host")
    monkeypatch.setenv(layers.VARIABLE, ",".join(gone))
    with Pool() as poor:
        done = run(poor, "if os.fork() == 0:\n  os.setsid()\n  time.sleep(1000)\nprint(os.environ)")
        assert done.status == "ok"
        assert set(gone) <= set(done.missing)
        verdict = Judge(poor).check(Program(program("pass"), Configuration(backend="eager")))
        assert verdict.outcome is Outcome.AGREE
        assert verdict.isolation == done.missing
        assert f"  isolation: this machine lacks {', '.join(done.missing)} (workbench doctor says more)" in list(lines(verdict))
        warned = [check.name for check in doctor._isolation(poor.environment()["missing"]) if check.state == "warning"]
        assert warned == list(done.missing)
        assert "secret-of-the-host" not in done.output
        assert run(poor, "os.fork()\nwhile True: pass", seconds=1).status == "timeout"
        assert run(poor, "while True: os.fork()", seconds=4, memory_mb=1 << 20).status in ("timeout", "memory")
        assert run(poor, "pass").status == "ok"
        (server,) = poor._all
        if layers.PROCESSES in gone:  # otherwise its warden keeps a nest ready
            assert descendants(server._process.pid) == []



def test_a_run_has_nothing_open_that_its_server_had(pool: Pool) -> None:
    opened = probe(pool, "for n in os.listdir('/proc/self/fd'):\n  try: print(os.readlink(f'/proc/self/fd/{n}'))\n  except OSError: pass").split("\n")
    assert opened
    assert {name for name in opened if name.startswith("/") and not name.startswith(("/dev/", "/proc/"))} == set()
    assert not any(name.startswith("socket:") for name in opened)


@pytest.mark.parametrize("body", ["for n in range(30): open(str(n), 'wb').write(bytes(8 << 20))", "for n in range(10**7): open(str(n), 'w').close()"])
def test_where_nothing_bounds_the_scratch_the_watch_ends_a_run_that_fills_it(pool: Pool, body: str) -> None:
    source = program(body + "\ntime.sleep(60)")
    done = pool.run(Request("run", source, options={"without": [layers.SPACE]}, limits=Limits(seconds=90, scratch_mb=64)))
    assert done.status == "disk", done
    assert "64 MB" in done.detail
    assert layers.SPACE in done.missing
