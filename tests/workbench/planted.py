"""Programs with an error planted below Dynamo: eager, ``eager`` and ``aot_eager`` never see it, so nothing but the oracle's numbers can tell."""

from __future__ import annotations

import textwrap

HEADER = '''\
import torch
from torch._inductor import config, decomposition

aten = torch.ops.aten
_library = torch.library.Library("planted", "FRAGMENT")
_swapped = {}


def plant(op, wrong):
    """Inductor calls ``wrong`` where the graph has ``op``: swapped after the last pass, so at stage inductor."""
    name = f"{op._schema.name.split('::')[1]}_{op._overloadname}"
    _library.define(name + str(op._schema)[str(op._schema).index("("):])
    _library.impl(name, lambda *args, **named: wrong(*args, **named).contiguous(), "CompositeExplicitAutograd")
    planted = getattr(torch.ops.planted, name).default
    torch.library.register_fake(f"planted::{name}", op, lib=_library)
    _swapped[op] = planted


def plant_decomposition(op, wrong):
    """The decomposition table has ``wrong`` for ``op``: at stage decomposition."""
    for table in (decomposition.decompositions, decomposition.fast_random_decomps()):
        table[op] = wrong


def _swap(graph):
    for node in graph.nodes:
        node.target = _swapped.get(node.target, node.target)


config.post_grad_custom_post_pass = _swap
torch.manual_seed(11)
'''


def program(body: str, *plants: str, grad: bool = False) -> str:
    """A program file: the plants (``plant(aten.exp.default, lambda x: ...)``), then ``body`` with ``fn`` and ``get_inputs``."""
    block = f'# /// workbench\n# backend = "inductor"\n# grad = {str(grad).lower()}\n# ///\n'
    return block + HEADER + "".join(f"{line}\n" for line in plants) + "\n" + textwrap.dedent(body)
