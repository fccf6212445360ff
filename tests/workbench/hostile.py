"""Programs that attack whoever runs them, as a table: what each does inside its call, and how its run may end."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

SLEEPER = "98765.4321"
"""Argument of the ``sleep`` that some leave behind."""

PROGRAM = """
import collections, ctypes, gc, hashlib, itertools, os, shutil, signal, socket, sqlite3, struct, subprocess, sys, threading, time
import torch

HOME, STORE, OUTSIDE, RUNNER, HEADERS, PORT, ABSTRACT, SOCKET = {places!r}
GOODS = [HOME, os.path.dirname(STORE), OUTSIDE, RUNNER, HEADERS, os.path.dirname(torch.__file__), sys.prefix, "/tmp", "/var/tmp", "/etc", "/usr/lib"]
libc = ctypes.CDLL(None)


def attempt(act, *arguments):
    try:
        print("done", act(*arguments))
    except (OSError, sqlite3.Error):
        print("refused")


def everywhere(data):
    for number in range(3, 2000):
        try:
            os.write(number, data)
        except OSError:
            pass


def framed(token, text=b"{{}}"):
    head = b"WBRESULT" + struct.pack("<I32sQQ", 1, token.encode(), len(text), 0)
    return head + text + hashlib.sha256(text).digest() + b"WBEND\\n"


def fn(x):
{body}
    return x + 1


def get_inputs():
    return [torch.ones(3)]
"""

REFUSED = r"(refused\n)+"
FULL = r"\[Errno 28\] No space left on device[^\n]*\n"


@dataclass(frozen=True, slots=True)
class Hostile:
    """One program.

    body:    what it does inside its call
    ends:    how its run ends (``Run.status``); several words where that is up to the machine
    prints:  a pattern that all of its output matches; None: anything
    limits:  of its run
    profile: whose program it is
    """

    body: str
    ends: str = "ok"
    prints: str | None = None
    limits: dict[str, float] = field(default_factory=dict)
    profile: str = "untrusted"

    def source(self, places: tuple[object, ...]) -> str:
        """The program, told where everything is."""
        return PROGRAM.format(places=places, body=textwrap.indent(textwrap.dedent(self.body).strip(), "    "))


LEAKS = {
    "reads a key from its environment": Hostile("print(dict(os.environ), os.environb)"),
    "reads a key from /proc/self/environ": Hostile("print(open('/proc/self/environ', 'rb').read())"),
    "reads a key from its parents": Hostile("""
        for pid in [os.getppid(), *range(1, 3000)]:
            for name in ("environ", "cmdline", "maps"):
                try:
                    print(open(f"/proc/{pid}/{name}", "rb").read())
                except OSError:
                    pass
    """),
    "traces its parents": Hostile(
        "for pid in (os.getppid(), 1): print('refused' if libc.ptrace(16, pid, None, None) else 'done')", prints=REFUSED
    ),
    "reads private files": Hostile("for path in (HOME + '/private', STORE, '/etc/shadow'): attempt(open, path)", prints=REFUSED),
    "opens sockets": Hostile(
        """
        for address in (("127.0.0.1", PORT), ("192.0.2.1", 80)):
            attempt(socket.create_connection, address, 2)
        attempt(socket.getaddrinfo, "pytorch.org", 443)
        attempt(socket.socket(socket.AF_UNIX).connect, chr(0) + ABSTRACT)
        attempt(socket.socket(socket.AF_UNIX).connect, SOCKET)
        """,
        prints=REFUSED,
    ),
}

TRACES = {
    "writes outside its folder": Hostile("for place in GOODS: attempt(open, place + '/trace', 'w')", prints=REFUSED),
    "writes outside its folder, a user's own": Hostile(
        "for place in [os.getcwd(), *GOODS]: attempt(open, place + '/trace', 'w')", prints=REFUSED, profile="own"
    ),
    "links, moves and makes folders outside": Hostile(
        """
        open("mine", "w").close()
        for place in GOODS:
            for act in (os.link, os.symlink, os.rename, shutil.copyfile):
                attempt(act, os.path.abspath("mine"), place + "/trace")
            attempt(os.mkdir, place + "/trace")
        """,
        prints=REFUSED,
    ),
    "deletes HOME": Hostile("""
        for place in (HOME, os.environ["HOME"]):
            shutil.rmtree(place, ignore_errors=True)
            os.system(f"rm -rf {place}")
    """),
    "deletes HOME, a user's own": Hostile("shutil.rmtree(HOME, ignore_errors=True)\nos.system(f'rm -rf {HOME}')", profile="own"),
    "changes modes, times and attributes": Hostile(
        """
        for path in (HOME, STORE, OUTSIDE):
            attempt(os.chmod, path, 0)
            attempt(os.utime, path)
            attempt(os.setxattr, path, "user.trace", b"1")
            attempt(os.truncate, path, 0)
        """,
        prints=REFUSED,
    ),
    "writes to the store's file": Hostile(
        """
        attempt(open, STORE, "r+b")
        attempt(os.unlink, STORE)
        attempt(lambda: sqlite3.connect(STORE).execute("drop table findings"))
        """,
        prints=REFUSED,
    ),
    "writes to the store's file, a user's own": Hostile(
        "attempt(open, STORE, 'r+b')\nattempt(lambda: sqlite3.connect(STORE).execute('drop table findings'))", prints=REFUSED, profile="own"
    ),
    "poisons every cache it can name": Hostile("""
        x = torch.compile(lambda v: v.sin())(x)
        named = [value for value in os.environ.values() if value.startswith("/")]
        for place in [HEADERS, os.path.dirname(os.getcwd()), *named]:
            for folder, _, names in os.walk(place):
                for name in [*names, "trace"]:
                    try:
                        open(os.path.join(folder, name), "w").write("#error poisoned")
                    except OSError:
                        pass
    """, limits={"seconds": 60}),
    "changes its own source on disk": Hostile(
        """
        for path in {__file__, sys.argv[0], os.path.abspath(__file__)}:
            attempt(open, path, "a")
            attempt(os.unlink, path)
            attempt(os.rename, path, "elsewhere")
        """,
        prints=REFUSED,
        profile="own",
    ),
    "leaves shared memory behind": Hostile(
        "print(libc.shmget(0x777, 1 << 20, 0o1666) >= 0, libc.msgget(0x777, 0o1666) >= 0)\nopen('/dev/shm/trace', 'w').close()",
        prints="True True\n",
    ),
    "becomes root": Hostile(
        """
        attempt(os.setuid, 0)
        attempt(socket.sethostname, "trace")
        attempt(os.mknod, "disk", 0o60600, os.makedev(8, 0))
        for failed in (libc.unshare(0x10000000), libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)):
            print("refused" if failed else "done")
        """,
        prints=REFUSED,
    ),
}

ENDLESS = {"seconds": 3, "memory_mb": 1 << 20}

PROCESSES = {
    "forks without end": Hostile("while True:\n    try:\n        os.fork()\n    except OSError:\n        pass", "timeout", limits=ENDLESS),
    "forks without end in a shell": Hostile("os.system('b() { b | b & b; }; b')\nwhile True: time.sleep(1)", "timeout", limits=ENDLESS),
    "starts threads without end": Hostile(
        """
        while True:
            try:
                threading.Thread(target=time.sleep, args=(1000,)).start()
            except RuntimeError:
                pass
        """,
        "timeout",
        limits=ENDLESS,
    ),
    "loops": Hostile("while True: pass", "timeout", limits={"seconds": 1.5}),
    "loops in C": Hostile("collections.deque(itertools.repeat(0), maxlen=0)", "timeout", limits={"seconds": 1.5}),
    "loops deaf to every signal": Hostile(
        "for n in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)\nwhile True: time.sleep(1)",
        "timeout",
        limits={"seconds": 1.5},
    ),
    "stops itself": Hostile("os.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass", "timeout", limits={"seconds": 1.5}),
    "lives on in a session of its own": Hostile(f"""
        if os.fork() == 0:
            os.setsid()
            if os.fork():
                os._exit(0)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.execlp("sleep", "sleep", "{SLEEPER}")
    """),
    "leaves threads and children": Hostile(f"""
        threading.Thread(target=lambda: time.sleep(1000)).start()
        for _ in range(20):
            subprocess.Popen(["sleep", "{SLEEPER}"], start_new_session=True)
    """),
    "signals its parents": Hostile("""
        for pid in {os.getppid(), 1} - {0}:
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
                try:
                    os.kill(pid, number)
                except OSError:
                    pass
    """),
    "signals all it can": Hostile("os.kill(-1, signal.SIGKILL)", "ok died"),
    "signals its group": Hostile("os.killpg(0, signal.SIGKILL)", "died"),
}

AMOUNTS = {
    "eats memory": Hostile("big = []\nwhile True: big.append(bytearray(b'x') * (32 << 20))", "memory", limits={"memory_mb": 900}),
    "eats memory in its children": Hostile(
        """
        for _ in range(6):
            if os.fork() == 0:
                block = bytearray(b"x") * (200 << 20)
                time.sleep(60)
        time.sleep(60)
        """,
        "memory",
        limits={"memory_mb": 1200},
    ),
    "eats memory that no process maps": Hostile(
        """
        block, files = bytes(32 << 20), []
        while len(files) < 60:
            files.append(os.memfd_create("x"))
            os.write(files[-1], block)
        time.sleep(60)
        """,
        "memory",
        limits={"memory_mb": 900},
    ),
    "eats memory in files": Hostile(
        "for n in range(31): open(f'/dev/shm/{n}', 'wb').write(bytes(32 << 20))\ntime.sleep(60)", "memory", limits={"memory_mb": 900}
    ),
    "eats disk": Hostile(
        """
        try:
            for n in range(100):
                open(f"{n}", "wb").write(bytes(16 << 20))
        except OSError as error:
            print(error)
        print(n)
        """,
        prints=FULL + "[34]\n",
        limits={"scratch_mb": 64},
    ),
    "eats disk in deleted files": Hostile(
        """
        files = []
        try:
            for n in range(100):
                files.append(os.open("x", os.O_CREAT | os.O_WRONLY))
                os.unlink("x")
                assert os.write(files[-1], bytes(16 << 20)) == 16 << 20
        except (OSError, AssertionError):
            print(n, flush=True)
        os._exit(0)
        """,
        "died",
        prints="[34]\n",
        limits={"scratch_mb": 64},
    ),
    "makes files without end": Hostile(
        "try:\n    for n in range(10**7): open(f'{n}', 'w').close()\nexcept OSError as error: print(error)", "ok timeout", limits={"seconds": 10}
    ),
    "makes folders without end": Hostile(
        "try:\n    while True: os.mkdir('d' * 200), os.chdir('d' * 200)\nexcept OSError as error: print(error)", "ok timeout", limits={"seconds": 3}
    ),
    "writes a large file": Hostile("attempt(open('large', 'wb').write, bytes(64 << 20))", prints="refused\n", limits={"file_mb": 8}),
    "prints a gigabyte": Hostile("line = 'x' * (1 << 20)\nfor _ in range(1024): print(line)", limits={"seconds": 60}),
    "prints a gigabyte past Python": Hostile("for _ in range(1024): os.write(1, b'y' * (1 << 20))", limits={"seconds": 60}),
    "recurses deep": Hostile(
        "sys.setrecursionlimit(10**9)\nf = lambda n: f(n + 1) + 1\nf(0)", "ok died memory timeout", limits={"seconds": 10, "memory_mb": 2000}
    ),
    "recurses deep in C": Hostile(
        "sys.setrecursionlimit(10**9)\nrepr(type('A', (), {'__repr__': lambda self: repr(self)})())",
        "ok died memory timeout",
        limits={"seconds": 10, "memory_mb": 2000},
    ),
}

RESULTS = {
    "leaves at once": Hostile("os._exit(0)", "died"),
    "leaves with a code": Hostile("os._exit(3)", "died"),
    "leaves while it compiles": Hostile("torch.compile(lambda v: v + 1, backend=lambda graph, inputs: os._exit(0))(x)", "ok died"),
    "kills itself": Hostile("os.kill(os.getpid(), signal.SIGKILL)", "died"),
    "aborts": Hostile("os.abort()", "died"),
    "reads address zero": Hostile("ctypes.string_at(0)", "died"),
    "closes every descriptor": Hostile("os.closerange(0, 4096)", "died"),
    "closes stdout": Hostile("sys.stdout.close()\nos.close(1)"),
    "prints a result of its own": Hostile("os.write(1, framed('0' * 32))\nos._exit(0)", "died"),
    "writes a result of its own into every pipe": Hostile("everywhere(framed('0' * 32))\nos._exit(0)", "forged"),
    "writes a cut result": Hostile("everywhere(framed('0' * 32)[:20])\nos._exit(0)", "forged"),
    "writes junk before its result": Hostile("everywhere(b'junk')", "forged"),
    "copies the token from the runner's frames": Hostile(
        """
        found, frame = {"0" * 32}, sys._getframe()
        while frame:
            for value in frame.f_locals.values():
                found |= {v for v in (value, getattr(value, "token", "")) if isinstance(v, str) and len(v) == 32}
            frame = frame.f_back
        for one in gc.get_objects():
            if isinstance(one, dict) and isinstance(one.get("token"), str):
                found.add(one["token"])
        everywhere(framed(found.pop()) if len(found) == 1 else framed((found - {"0" * 32}).pop()))
        os._exit(0)
        """,
        "forged",
    ),
}

HOSTILE = {**LEAKS, **TRACES, **PROCESSES, **AMOUNTS, **RESULTS}
