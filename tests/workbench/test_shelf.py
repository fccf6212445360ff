"""The folder of precompiled headers stays within its size, keeps what is in use, and holds nothing cut."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from workbench.environment import header_folder
from workbench.runner import shelf, warmup
from workbench.runner.protocol import Request
from workbench.servers import Pool


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "torchinductor_workbench" / "precompiled_headers"
    (found / "locks").mkdir(parents=True)
    return found


def header(folder: Path, name: str, *, used: float | None) -> Path:
    """A header of 100 bytes; ``used`` None: its build was cut."""
    path = folder / f"{name}.h"
    path.write_text("#include")
    path.with_suffix(".h.gch").write_bytes(bytes(100))
    if used is not None:
        shelf.mark(str(path))
        os.utime(f"{path}{shelf.MARK}", (used, used))
    return path


def left(folder: Path) -> set[str]:
    return {path.name.partition(".")[0] for path in folder.glob("*.gch")}


def test_what_was_used_longest_ago_goes_first(tmp_path: Path, folder: Path) -> None:
    for name, used in (("new", 3000.0), ("old", 1000.0), ("middle", 2000.0)):
        header(folder, name, used=used)
    shelf.tidy(str(tmp_path), str(folder), limit=250)
    assert left(folder) == {"new", "middle"}
    assert not list(folder.glob("old*"))


def test_temporary_folders_of_killed_servers_go(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "tmp1234" / "deep").mkdir(parents=True)
    (tmp_path / "vectors").mkdir()
    shelf.tidy(str(tmp_path), str(folder))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["torchinductor_workbench", "vectors"]


def test_a_header_whose_build_was_killed_is_removed_and_one_under_way_is_not(folder: Path) -> None:
    header(folder, "whole", used=1.0)
    header(folder, "cut", used=None)
    header(folder, "building", used=None)
    with (folder / "locks" / "building.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as torch does while it builds
        shelf.remove_cut(str(folder))
    assert left(folder) == {"whole", "building"}
    assert (folder / "cut.h").exists()


CUT = {".gch": 1 << 20, ".zip": 1 << 12}
"""How many bytes of each kind of file are left."""

def test_a_damaged_archive_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive, cache = tmp_path / "kept.zip", tmp_path / "cache"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(cache))
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("ab/x.so", b"library" * 20_000)
    assert warmup._take(str(archive))
    assert (cache / "ab" / "x.so").stat().st_size == 140_000
    (cache / "ab" / "x.so").unlink()
    whole = archive.read_bytes()
    archive.write_bytes(whole[:90_000] + bytes(100) + whole[90_100:])
    assert not warmup._take(str(archive))
    assert not list(cache.rglob("*.so"))


HOLDER = "import sys; from workbench.runner import shelf; shelf.LIMIT = 0; shelf.hold(*sys.argv[1:]); print('held', flush=True); sys.stdin.read()"


def test_no_header_goes_while_another_server_lives(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tidied: list[str] = []
    monkeypatch.setattr(shelf, "tidy", lambda root, folder: tidied.append(root))
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        shelf.hold(str(tmp_path), str(folder))
        assert tidied == []
        for descriptor in shelf._held:
            os.close(descriptor)
        shelf._held.clear()
        other.communicate()
    shelf.hold(str(tmp_path), str(folder))
    assert tidied == [str(tmp_path)]
    shelf._held.clear()


@pytest.mark.torch
def test_a_cut_header_or_library_stops_no_compile(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is after a first start that was killed while the compiler wrote."""
    pool.environment()  # a server that has started has built the headers
    cache = tmp_path / "cache" / "torch-compile-workbench" / "headers"
    for path in header_folder().rglob("*"):
        if path.suffix in (".h", ".gch") or "vectors" in path.parts:
            target = cache / path.relative_to(header_folder())
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                target.write_bytes(path.read_bytes()[: CUT.get(path.suffix)])
    assert {path.suffix for path in cache.rglob("*")} >= CUT.keys()
    assert not any(zipfile.is_zipfile(path) for path in cache.rglob("*.zip"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    source = "import torch\ndef fn(x):\n    return x.cos() * 3\ndef get_inputs():\n    return [torch.ones(3)]\n"
    with Pool() as fresh:
        assert fresh.environment()["problem"] == ""
        done = fresh.run(Request("run", source, backend="inductor", configuration={"backend": "inductor"}))
    assert done.document is not None
    assert done.document["outcome"] == "returned", done.document["exception"]
    assert list(cache.rglob(f"*{shelf.MARK}"))
    assert any(zipfile.is_zipfile(path) for path in cache.rglob("*.zip"))  # those of other interpreters stay cut
