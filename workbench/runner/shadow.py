"""A dispatch mode that keeps a float64 image beside every float tensor of an eager run, and notes what a judge needs to know of the run.

The primal is untouched: same calls on the same tensors, same random stream, same memory. Each node is run again on the images of its operands
(the reference) and, where those differ from the primal, once more on the primal's own operands (is the node exact?).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from .choices import Choices
from .exactness import equal, exact_elements, is_whole
from .image import Images, image_of
from .node import FACTORIES, HALVES, SPECTRAL, Node, abstract, desugars, floating, plain, storage_key
from .operands import Operands
from .replay import ReplayError, replay, upcast

ROUNDING_FACTORIES = frozenset(
    {"arange", "linspace", "logspace", "hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"}
)
OVERWRITING = frozenset({"copy", "fill", "zero"})


class Shadow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Enter it around an eager run, backward included.

    plan: one entry a node, [name, "exact" | "partial" | "inexact"], JSON-able, for ``nudge.Nudge``
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.plan: list[list[str]] = []
        self._counts: Counter[str] = Counter()
        self._operands = Operands(self._counts)
        self._choices = Choices()
        self._images = Images(self._counts, self._operands.leaf)
        self._random = self._half = self._looking = False

    @property
    def facts(self) -> dict[str, Any]:
        """random: drew random numbers; half: half types occurred; exact: every node was; counts: nodes, and what was skipped or started again."""
        counts = {"nodes": len(self.plan), **self._counts}
        return {"random": self._random, "half": self._half, "exact": all(e == "exact" for _, e in self.plan), "counts": counts}

    @property
    def warnings(self) -> dict[str, dict[str, Any]]:
        """By name of the warning, the first evidence for it and how many nodes gave some."""
        return self._operands.warnings

    def image(self, tensor: Tensor) -> Tensor | None:
        """The float64 (complex128) image, a copy of the same shape; None for tensors that can have none. Also after the run."""
        found: Tensor | None = self._look(lambda: image_of(self._images, tensor))
        return found

    def exact(self, tensor: Tensor) -> bool:
        """The tensor's storage came from exact nodes only; True for inputs, and for what has no storage."""
        return bool(self._look(lambda: not plain(tensor) or self._images.exact(tensor)))

    def keys(self, tensor: Tensor) -> tuple[Tensor, int | None] | None:
        """What an index tensor chose among, as it was then, and the dimension (None: flattened); None where the tensor is no such result."""
        found: tuple[Tensor, int | None] | None = self._look(lambda: self._choices.of(tensor))
        return found

    def _look(self, what: Callable[[], Any]) -> Any:
        self._looking = True
        try:
            with torch._C.DisableTorchFunction():
                return what()
        finally:
            self._looking = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self._looking:
            return func(*args, **kwargs)
        if any(abstract(t) for t in types):
            return func(*args, **kwargs)
        if any(desugars(t) for t in types):
            self._counts["subclass"] += 1
            return NotImplemented  # the subclass unwraps itself, and the mode sees its inner tensors
        node = Node(func, args, kwargs, len(self.plan))
        self.plan.append([node.operator.name, "exact"])
        if node.operator.opaque:
            return self._opaque(node)
        with torch._C.DisableTorchFunction():  # a function mode of the program must not see the calls made here
            return self._plain(node)

    def _opaque(self, node: Node) -> Any:
        """Run once, images start from what it gives. What it wrote unsaid is found by the images' checksums."""
        output = node()
        with torch._C.DisableTorchFunction():
            results, _ = node.results(output)
            if results or node.operands:
                self._counts[f"opaque {node.operator.name}"] += 1
            self._from_primal(node, results, exact=not any(floating(t) for t in results))
        return output

    def _plain(self, node: Node) -> Any:
        op = node.operator
        self._half = self._half or any(t.dtype in HALVES for t in node.operands)
        if op.view or op.metadata:
            return self._operands.watched(node)
        if op.base in FACTORIES or node.draws:
            return self._given(node)
        if not all(plain(t) for t in node.operands) or self._operands.beyond(node):
            return self._passed(node)
        return self._replayed(node)

    def _passed(self, node: Node) -> Any:
        self._counts[f"passed {node.operator.name}"] += 1
        output = node()
        results = [t for t in node.results(output)[0] if plain(t)]
        self._from_primal(node, results, exact=not any(floating(t) for t in results))
        return output

    def _given(self, node: Node) -> Any:
        """Factories and random numbers: the primal's values are the values. Scaling in between (dropout), and steps of a range, round."""
        output = self._operands.watched(node)
        results, _ = node.results(output)
        rounds = node.operator.base in ROUNDING_FACTORIES
        if node.draws:
            self._random = True
            rounds = any(not any(t is w for w in node.written) for t in node.floats)
        floats = [t for t in results if floating(t)]
        self._half = self._half or any(t.dtype in HALVES for t in floats)
        self._from_primal(node, results, exact=not rounds or all(is_whole(upcast(t)) for t in floats))
        return output

    def _from_primal(self, node: Node, results: list[Tensor], *, exact: bool) -> None:
        """The results' images start (again) from the primal."""
        self.plan[node.index][1] = "exact" if exact else "inexact"
        exact = exact and self._operands_exact(node)
        written = {id(t) for t in (*node.written, *node.outs)}
        for result in results:
            if not plain(result):
                continue
            if not floating(result):
                self._images.taint(result, exact=exact)
            elif id(result) in written:
                self._images.store(result, upcast(result), same=True, exact=exact)
            else:
                self._images.produced(result).exact = exact  # elements when somebody reads

    def _operands_exact(self, node: Node) -> bool:
        overwritten = {id(t) for t in node.outs}
        if node.operator.base in OVERWRITING:
            overwritten |= {id(t) for t in node.written}
        return all(self._images.exact(t) for t in node.operands if id(t) not in overwritten and plain(t))

    def _replayed(self, node: Node) -> Any:
        try:
            call = _Call(node, self._images)
        except Exception:  # never let the bookkeeping look like an error of the program
            return self._passed(node)
        self._operands.before(node)
        output = self._operands.watched(node)
        self._operands.after(node, output)
        results, fresh = node.results(output)
        self._half = self._half or any(t.dtype in HALVES for t in results)
        self._choices.note(node, results)
        if node.operator.gauged or not any(floating(t) for t in results):
            self._from_primal(node, results, exact=not node.operator.gauged)
            return output
        try:
            if node.operator.base in SPECTRAL:
                self._spectrum(node, call, results, fresh)
            else:
                self._decide(node, call, results, fresh)
        except Exception as error:
            why = error.args[0] if isinstance(error, ReplayError) else type(error).__name__
            self._counts[f"{why} {node.operator.name}"] += 1
            self._from_primal(node, results, exact=False)
        return output

    def _decide(self, node: Node, call: _Call, results: list[Tensor], fresh: list[int]) -> None:
        values, masks = call.replayed(results, fresh)
        whole = all(bool(m.all()) for m in masks)
        self.plan[node.index][1] = "exact" if whole else "partial" if any(bool(m.any()) for m in masks) else "inexact"
        exact = whole and self._operands_exact(node)
        for result, value in zip(results, values, strict=True):
            self._keep(result, value, exact=exact)

    def _spectrum(self, node: Node, call: _Call, results: list[Tensor], fresh: list[int]) -> None:
        """Values from the replay; vectors from the primal, since those of nearly equal values may be any basis."""
        values, _ = call.replayed(results, fresh)
        self._from_primal(node, results, exact=False)
        position = SPECTRAL[node.operator.base]
        self._keep(results[position], values[position], exact=False)

    def _keep(self, result: Tensor, value: Tensor, *, exact: bool) -> None:
        if not floating(result):
            self._images.taint(result, exact=exact)
            return
        self._images.produced(result)
        self._images.store(result, value, same=bool(equal(value, upcast(result)).all()), exact=exact)


class _Call:
    """The operands of one node as they are before the primal runs, and the two replays after it."""

    def __init__(self, node: Node, images: Images) -> None:
        self._node = node
        self._images = images
        self._floats = node.floats
        self._views = {id(t): images.read(t) for t in self._floats}
        self._same = all(images.same(t) for t in self._floats)
        written = {storage_key(t) for t in (*node.written, *node.outs)}
        self._integers = {id(t): t.clone() for t in node.written if not floating(t)}
        # Images of what the node writes change under the replay; copies of the primal's operands do not.
        self._primal = {id(t): self._views[id(t)] if self._same and storage_key(t) not in written else upcast(t) for t in self._floats}

    def replayed(self, results: list[Tensor], fresh: list[int]) -> tuple[list[Tensor], list[Tensor]]:
        """Values of the image, and which elements are exact."""
        node = self._node
        if self._same and all(t.dtype in (torch.float64, torch.complex128) for t in results if floating(t)):
            values = local = [upcast(t) if floating(t) else t for t in results]
        else:
            values = replay(node, lambda t: self._image(t), results, fresh)
            local = values if self._same else self._again(results, fresh)(lambda t: t)
        before = {i: self._primal[id(t)] for i, t in enumerate(node.written) if floating(t)}
        masks = exact_elements(node, results, local, list(self._primal.values()), self._again(results, fresh), before)
        return values, masks

    def _image(self, tensor: Tensor) -> Tensor:
        return self._views[id(tensor)] if id(tensor) in self._views else self._integers[id(tensor)].clone()

    def _again(self, results: list[Tensor], fresh: list[int]) -> Callable[[Callable[[Tensor], Tensor]], list[Tensor]]:
        written = {id(t) for t in self._node.written}

        def again(change: Callable[[Tensor], Tensor]) -> list[Tensor]:
            def operand(tensor: Tensor) -> Tensor:
                if id(tensor) not in self._primal:
                    return self._integers[id(tensor)].clone()
                value = change(self._primal[id(tensor)])
                return value.clone() if id(tensor) in written else value

            return replay(self._node, operand, results, fresh)

        return again
