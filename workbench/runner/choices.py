"""What index-valued results chose among: another index with an equal key is a tie, not a mismatch (DESIGN §3)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from .node import SELECTING, Node, plain, storage_key

ARGUMENTS = frozenset({"argmax", "argmin"})


@dataclass(frozen=True, slots=True)
class Choice:
    """One node that returned indices.

    keys:    what it chose among, as the primal had it, in its own dtype
    dim:     which dimension the indices run over; None: the flattened keys
    indices: a copy of what it returned
    """

    reference: StorageWeakRef
    keys: Tensor
    dim: int | None
    indices: Tensor


class Choices:
    """The choices of one run, found again by the storage of the indices."""

    def __init__(self) -> None:
        self._choices: dict[int, Choice] = {}

    def note(self, node: Node, results: list[Tensor]) -> None:
        """Remembers what the node chose among, if it chose."""
        base = node.operator.base
        if base in ARGUMENTS:
            dim = node.argument("dim")
            self._keep(results[0], node.argument("self"), None if dim is None else int(dim))
        elif base in SELECTING and len(results) == 2 and not results[1].dtype.is_floating_point:
            self._keep(results[1], node.argument("self"), node.dimension)

    def of(self, tensor: Tensor) -> tuple[Tensor, int | None] | None:
        """Keys and dimension of an index tensor that is as its node returned it; None for every other tensor."""
        choice = self._choices.get(storage_key(tensor)) if plain(tensor) else None
        if choice is None or choice.indices.shape != tensor.shape or not choice.indices.equal(tensor):
            return None
        return choice.keys, choice.dim

    def _keep(self, indices: Tensor, keys: Tensor, dim: int | None) -> None:
        reference = StorageWeakRef(indices.untyped_storage())  # type: ignore[no-untyped-call]
        self._choices[storage_key(indices)] = Choice(reference, keys.clone(), dim, indices.clone())
