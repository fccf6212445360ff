"""One call that a dispatch mode sees, and what its schema says of it. Knows no image and runs nothing but what it is asked to run.

A mode counts its nodes from 0; shadow and nudge see the same sequence, so the index and the name together identify a node across processes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}
FLOATS = frozenset({torch.float64, torch.float32, torch.float16, torch.bfloat16, *REAL}) | {
    getattr(torch, name) for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz") if hasattr(torch, name)
}
HALVES = FLOATS - {torch.float64, torch.float32, torch.complex64, torch.complex128}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Written without saying so in their schema.
HIDDEN_WRITES = dict.fromkeys(("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"), ("running_mean", "running_var"))

FACTORIES = _words(
    """empty empty_strided empty_permuted empty_like new_empty new_empty_strided zeros zeros_like new_zeros ones ones_like new_ones full full_like
    new_full scalar_tensor eye arange linspace logspace rand rand_like randn randn_like randint randint_like randperm tril_indices triu_indices
    hann_window hamming_window blackman_window bartlett_window kaiser_window fft_fftfreq fft_rfftfreq lift_fresh_copy
    _efficientzerotensor"""
)

# The result is made of operand elements (or of whole numbers decided by them): exact whatever the values.
MOVING = _words(
    """_to_copy clone copy cat index index_select gather take flip roll repeat where masked_fill masked_scatter masked_select fill zero
    scatter index_put _index_put_impl _unsafe_index _unsafe_index_put _unsafe_masked_index index_fill index_copy put tril triu constant_pad_nd
    reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d pixel_shuffle pixel_unshuffle
    channel_shuffle im2col slice_scatter select_scatter diagonal_scatter as_strided_scatter slice_backward select_backward diagonal_backward
    slice_inverse embedding diag_embed block_diag resolve_conj resolve_neg conj_physical _conj_physical positive neg abs relu clamp clamp_min
    clamp_max clip maximum minimum fmax fmin sign sgn copysign heaviside nan_to_num floor ceil trunc threshold threshold_backward hardtanh
    hardtanh_backward amax amin max min aminmax median nanmedian sort topk kthvalue mode cummax cummin max_pool2d_with_indices
    max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d max_unpool2d max_unpool3d
    upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    _unique2 unique_dim unique_consecutive frexp real imag complex view_as_real_copy view_as_complex_copy masked_fill_backward
    _pad_circular to_padded_tensor"""
)

# values, indices: the values of a replay are gathered at the indices of the primal, or a near tie would pair one with the other's.
SELECTING = frozenset({"sort", "topk", "kthvalue", "mode", "median", "nanmedian", "max", "min", "cummax", "cummin"})
SELECTING_POOLS = {
    "max_pool2d_with_indices": 2,
    "adaptive_max_pool2d": 2,
    "fractional_max_pool2d": 2,
    "max_pool3d_with_indices": 3,
    "adaptive_max_pool3d": 3,
    "fractional_max_pool3d": 3,
}

# Right up to a sign or phase that the algorithm chooses: a replay may choose another, so there is none.
GAUGED = frozenset({"linalg_eig", "_linalg_eigvals", "geqrf", "lobpcg"})

# Position of the values, which are unique and sorted; of the vectors only a sign or phase is free.
SPECTRAL = {"_linalg_eigh": 0, "_linalg_svd": 1}

# Accumulate, but are no sums of products of their operands: the operator on magnitudes says nothing of how far another order of sums moves it
# (a softmax of 1e-9 is not uncertain by eps; the inverse of the magnitudes may be anything).
UNSUMMED = _words(
    """_softmax softmax _safe_softmax _linalg_eigh _linalg_svd cholesky_inverse cholesky_solve lu_solve triangular_solve geqrf ormqr orgqr householder_product
    _linalg_det _linalg_slogdet _linalg_solve_ex linalg_solve_triangular linalg_cholesky_ex linalg_inv_ex linalg_ldl_factor_ex linalg_ldl_solve
    linalg_lstsq linalg_lu linalg_lu_factor_ex linalg_lu_solve linalg_matrix_exp linalg_pinv linalg_qr linalg_householder_product"""
)

# Results, by position, that are decisions in the form of floats: nothing rounds them.
DECISIONS = {"multilabel_margin_loss_forward": 1}

# Elementwise, but not (in every version) tagged so.
POINTWISE = _words(
    """add sub rsub mul div true_divide floor_divide addcmul addcdiv lerp pow square exp log sqrt rsqrt reciprocal sigmoid tanh gelu
    gelu_backward silu silu_backward sigmoid_backward tanh_backward elu elu_backward leaky_relu leaky_relu_backward softplus
    softplus_backward hardswish hardswish_backward hardsigmoid hardsigmoid_backward mish mish_backward log_sigmoid_forward
    log_sigmoid_backward logit_backward glu glu_backward softshrink hardshrink remainder fmod atan2 hypot logaddexp logaddexp2 xlogy
    polar polygamma prelu _prelu_kernel _prelu_kernel_backward round float_power native_dropout_backward"""
)


@dataclass(frozen=True, slots=True)
class Operator:
    """What the schema of one overload says.

    name:     as the plan has it: ``aten.add_.Tensor``
    base:     ``add``: without namespace, overload, ``_foreach_`` and the in-place underscore
    names:    of the arguments, in order
    writes:   arguments that are written in place
    outs:     arguments of an ``out=`` variant
    kind:     ``moving``, ``pointwise`` or ``accumulating`` (everything that is neither)
    view:     every result is a view of an operand
    metadata: changes size, strides or storage of its operand, not the elements (``resize_``, ``set_``, ``t_``)
    random:   draws random numbers
    opaque:   never run twice: higher-order operators, custom operators (their Python may have effects)
    gauged:   right up to a sign or phase
    """

    name: str
    base: str
    names: tuple[str, ...] = ()
    writes: frozenset[str] = frozenset()
    outs: frozenset[str] = frozenset()
    kind: str = "accumulating"
    view: bool = False
    metadata: bool = False
    random: bool = False
    opaque: bool = False
    gauged: bool = False


@functools.cache
def operator(func: Any) -> Operator:
    """Of an ``OpOverload`` or a higher-order operator."""
    if not isinstance(func, torch._ops.OpOverload):
        return Operator(name=str(func), base=str(func), opaque=True)
    schema = func._schema
    base = _base(schema.name)
    outs = frozenset(a.name for a in schema.arguments if a.is_out)
    writes = frozenset(a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write) - outs
    aliases = [r.alias_info for r in schema.returns]
    return Operator(
        name=str(func),
        base=base,
        names=tuple(a.name for a in schema.arguments),
        writes=writes | frozenset(HIDDEN_WRITES.get(base, ())),
        outs=outs,
        kind=_kind(base),
        view=bool(aliases) and not writes and not outs and all(a is not None for a in aliases),
        metadata=torch.Tag.inplace_view in func.tags,
        random=torch.Tag.nondeterministic_seeded in func.tags,
        gauged=base in GAUGED,
        opaque=func.namespace not in ("aten", "prims"),
    )


def _base(name: str) -> str:
    name = name.rpartition("::")[2].removeprefix("_foreach_")
    return name.removesuffix("_") if not name.startswith("__") else name


def _kind(base: str) -> str:
    if base in MOVING or base.endswith("_copy"):
        return "moving"
    packet = getattr(torch.ops.aten, base, None)
    overloads = () if packet is None else (getattr(packet, name) for name in packet.overloads())
    tagged = any(torch.Tag.pointwise in overload.tags for overload in overloads)
    return "pointwise" if tagged or base in POINTWISE else "accumulating"


def plain(value: Any) -> bool:
    """A strided tensor with memory of its own: no subclass with its own dispatch, not sparse, quantised, nested, meta or a zero tensor."""
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and not value.is_quantized
        and not value.is_nested
        and value.device.type != "meta"
        and not value._is_zerotensor()
        and not desugars(type(value))
    )


def floating(value: Any) -> bool:
    """A plain tensor of floats or complex numbers: what can have a float64 image."""
    return isinstance(value, Tensor) and value.dtype in FLOATS and plain(value)


def desugars(kind: type) -> bool:
    """A subclass that handles dispatch itself: a mode that returns NotImplemented sees its inner tensors instead."""
    return getattr(kind, "__torch_dispatch__", None) is not torch._C._disabled_torch_dispatch_impl


def abstract(kind: type) -> bool:
    """A tensor class of tracing, fake or functional: it holds no numbers, and a mode passes it through."""
    return kind.__module__.startswith("torch._subclasses")


def storage_key(tensor: Tensor) -> int:
    """Address of the StorageImpl; unique only as long as somebody holds a reference, weak ones included."""
    return tensor.untyped_storage()._cdata  # type: ignore[no-any-return]


def real_dtype(tensor: Tensor) -> torch.dtype:
    """``float32`` of both float32 and complex64: what the elements in memory are."""
    return REAL.get(tensor.dtype, tensor.dtype)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Every tensor in nested lists, tuples and dicts, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nest of lists, tuples and dicts with every leaf changed."""
    if isinstance(value, list | tuple):
        return [mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {name: mapped(item, change) for name, item in value.items()}
    return change(value)


class Node:
    """One call: operator, arguments, and which tensors it reads and writes."""

    __slots__ = ("args", "func", "index", "kwargs", "operands", "operator", "outs", "written")

    def __init__(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], index: int) -> None:
        self.func, self.args, self.kwargs, self.index = func, args, kwargs, index
        self.operator = operator(func)
        self.operands = list(tensors_in((args, kwargs)))
        self.written = self._named(self.operator.writes)
        self.outs = self._named(self.operator.outs)

    def __call__(self) -> Any:
        return self.func(*self.args, **self.kwargs)

    def argument(self, name: str, default: Any = None) -> Any:
        """The value passed for one argument of the schema."""
        if name in self.kwargs:
            return self.kwargs[name]
        if name in self.operator.names:
            position = self.operator.names.index(name)
            if position < len(self.args):
                return self.args[position]
        return default

    def _named(self, names: frozenset[str]) -> list[Tensor]:
        if not names:
            return []
        return [t for name in self.operator.names if name in names for t in tensors_in(self.argument(name))]

    @property
    def floats(self) -> list[Tensor]:
        """Each floating operand that is read, once; what is only an ``out=`` is a result."""
        read = (self.args, {name: value for name, value in self.kwargs.items() if name not in self.operator.outs})
        return list({id(t): t for t in tensors_in(read) if floating(t)}.values())

    @property
    def kind(self) -> str:
        """``moving``, ``pointwise`` or ``accumulating`` as called: an index assignment that accumulates does not merely move."""
        if self.operator.kind == "moving" and (self.argument("accumulate") or self.argument("reduce") is not None):
            return "accumulating"
        if self.operator.base == "scatter_reduce" and self.argument("reduce") in ("amax", "amin"):
            return "moving"
        return self.operator.kind

    @property
    def formula(self) -> bool:
        """A derivative in one kernel, which a decomposition computes in steps: ``1 - y * y`` in the backward of tanh loses digits on the way."""
        return self.kind == "pointwise" and self.operator.base.endswith("_backward")

    @property
    def sums(self) -> bool:
        """Its results are sums of products: the operator on magnitudes bounds what was summed up for them."""
        return self.operator.base not in UNSUMMED

    @property
    def draws(self) -> bool:
        """Really draws random numbers: attention without dropout is tagged too."""
        if not self.operator.random:
            return False
        names = self.operator.names
        if any(name in names and not self.argument(name, 0.0) for name in ("dropout_p", "dropout")):
            return False
        return not any(name in names and self.argument(name) is False for name in ("train", "training"))

    @property
    def dimension(self) -> int:
        """Of an operator that selects along one."""
        return int(self.argument("dim", -1 if self.operator.base in ("sort", "topk", "kthvalue", "mode") else 0))

    def results(self, output: Any) -> tuple[list[Tensor], list[int]]:
        """The tensors whose elements this node decided, written operands, then ``out=`` operands, then fresh ones; and which of the returned are fresh."""
        known = {storage_key(t) for t in self.operands if plain(t)}
        fresh = [(i, t) for i, t in enumerate(tensors_in(output)) if plain(t) and storage_key(t) not in known]
        return [*self.written, *self.outs, *(t for _, t in fresh)], [i for i, _ in fresh]
