"""The record of findings: plain records and one SQLite file. Imports neither torch, textual, reducers nor workbench.

``open_store`` and ``Store`` are loaded on first use, so that ``store.records`` costs no SQLite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from store.store import Store, open_store
else:

    def __getattr__(name: str) -> Any:
        if name in __all__:
            from store import store as facade

            return getattr(facade, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Store", "open_store"]
