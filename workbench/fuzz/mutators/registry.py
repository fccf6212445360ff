"""The list of mutators and how one is declared."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from workbench.fuzz.draw import Draw
from workbench.fuzz.subject import Subject

Apply = Callable[[Subject, Draw], str | None]

FAMILIES = (
    "overlap",
    "identity",
    "views",
    "resizing",
    "dtypes",
    "boundary",
    "parameters",
    "errors",
    "layouts",
    "sequences",
    "randomness",
    "calls",
    "constructs",
    "objects",
    "modes",
    "gradients",
    "flips",
    "splicing",
)
"""Modules of this package that declare mutators."""


@dataclass(frozen=True, slots=True)
class Mutator:
    """One rule.

    characteristics: ids of what it implements; their codes are its codes
    apply:           edits the subject and names the variant it made, or returns None and leaves the subject as it was
    raises:          eager is meant to raise in its mutants (a lost error shows as ``missing_error``)
    compiles:        False when a backend without code generation already shows its kind of bug
    """

    name: str
    characteristics: tuple[str, ...]
    apply: Apply
    raises: bool = False
    compiles: bool = True

    @property
    def family(self) -> str:
        """The module it stands in."""
        return self.apply.__module__.rpartition(".")[2]


MUTATORS: dict[str, Mutator] = {}


def mutator(name: str, *characteristics: str, raises: bool = False, compiles: bool = True) -> Callable[[Apply], Apply]:
    """Declare a function as a mutator."""

    def declare(apply: Apply) -> Apply:
        assert name not in MUTATORS, name
        MUTATORS[name] = Mutator(name, characteristics, apply, raises, compiles)
        return apply

    return declare


def mutators() -> dict[str, Mutator]:
    """All mutators by name, in a fixed order: those declared here, and the rules that a person accepted."""
    for family in FAMILIES:
        importlib.import_module(f"workbench.fuzz.mutators.{family}")
    from workbench.fuzz.mutators.learned import learned

    return dict(sorted({**learned(), **MUTATORS}.items()))
