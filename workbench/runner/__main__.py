"""Bootstrap of a server, run by path: ``python .../workbench/runner/__main__.py CONTROL_FD``; of a spawned child: ``--child FDS``;
for torch's operator samples: ``--opinfo COUNT SEED``.

Loads this folder as the package ``_workbench_runner`` and takes it off ``sys.path``, so that a user's own ``store.py``, ``program.py`` or
``server.py`` still imports. Must stay importable by any Python 3.10.
"""

import importlib.util
import os
import socket
import sys

PACKAGE = "_workbench_runner"


def load(folder: str) -> None:
    """Make ``folder`` importable as ``_workbench_runner`` and as nothing else."""
    sys.path[:] = [entry for entry in sys.path if os.path.realpath(entry or os.curdir) != folder]
    spec = importlib.util.spec_from_file_location(PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def main() -> None:
    """Serve the host at the other end of the socket whose number is the first argument, or answer one request as a spawned child."""
    load(os.path.dirname(os.path.realpath(__file__)))
    if sys.argv[1] == "--child":
        importlib.import_module(f"{PACKAGE}.spawn").run(sys.argv[2:])
    if sys.argv[1] == "--opinfo":
        importlib.import_module(f"{PACKAGE}.opinfo").main(sys.argv[2:])
        return
    descriptor = int(sys.argv[1])
    if sys.version_info < (3, 10):  # noqa: UP036 - the interpreter is the user's, not ours
        wire = importlib.import_module(f"{PACKAGE}.wire")
        reason = f"Python {sys.version.split()[0]} is too old for the runner, which needs 3.10"
        wire.send_json(socket.socket(fileno=descriptor), {"failed": reason})
        return
    importlib.import_module(f"{PACKAGE}.server").serve(descriptor)


if __name__ == "__main__":
    main()
