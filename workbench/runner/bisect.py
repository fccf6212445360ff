"""The switches of ``torch._inductor.compiler_bisector`` inside a child: apply only the first ``max + 1`` applications of one subsystem.

Its command line is never used (it deletes a whole cache folder). ``max=-1`` disables all, a huge ``max`` reads how many there are.
"""

from __future__ import annotations

import os
from typing import Any


class Switches:
    """Turned on before the compile, read after it."""

    def __init__(self, backend: str, subsystem: str, maximum: int) -> None:
        from torch._inductor import compiler_bisector

        self.subsystem = subsystem
        self.maximum = maximum
        self.last = ""
        self._module = compiler_bisector
        os.environ.update(TORCH_BISECT_BACKEND=backend, TORCH_BISECT_SUBSYSTEM=subsystem, TORCH_BISECT_MAX=str(maximum))
        compiler_bisector.get_env_val.cache_clear()  # a forked child inherits what the server already asked
        compiler_bisector.subsystem_call_counter.clear()
        compiler_bisector.CompilerBisector.bisection_enabled = True
        self._record_names()

    def _record_names(self) -> None:
        bisector: Any = self._module.CompilerBisector
        original = bisector.disable_subsystem

        def disable_subsystem(backend: str, subsystem: str, debug_info: Any = None) -> bool:
            number = self._module.subsystem_call_counter[subsystem]
            disabled = bool(original(backend, subsystem, debug_info))
            if subsystem == self.subsystem and number == self.maximum and callable(debug_info):
                self.last = str(debug_info())[:400]
            return disabled

        bisector.disable_subsystem = disable_subsystem

    def facts(self) -> dict[str, Any]:
        """How often the subsystem asked, and what the last application that was let through was."""
        count = int(self._module.subsystem_call_counter[self.subsystem])
        return {"subsystem": self.subsystem, "max": self.maximum, "count": count, "last": self.last}


def switches(request: dict[str, Any] | None) -> Switches | None:
    """Turn on what ``Request.bisect`` asks for."""
    if request is None:
        return None
    return Switches(str(request["backend"]), str(request["subsystem"]), int(request["max"]))
