"""Rule mutators, one family a module. Each is deterministic from a draw, knows what the trace saw, and says which variant it made."""

from __future__ import annotations

from workbench.fuzz.mutators.registry import MUTATORS, Mutator, mutators

__all__ = ["MUTATORS", "Mutator", "mutators"]
