"""Classes, special methods, dataclasses, tensor subclasses, identity: what Python looks up is not always what it seems."""

from __future__ import annotations

from workbench.fuzz.draw import Draw
from workbench.fuzz.mutators import pools
from workbench.fuzz.mutators.constructs import plant
from workbench.fuzz.mutators.registry import mutator
from workbench.fuzz.subject import Subject

OBJECTS = pools.items("objects")


@mutator("python_objects", "python-objects", compiles=False)
def python_objects(subject: Subject, draw: Draw) -> str | None:
    """Special methods, properties, dataclasses, subclasses, identity."""
    return plant(subject, draw, OBJECTS)
