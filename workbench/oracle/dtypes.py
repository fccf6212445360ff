"""torch's dtypes as numpy sees them: decoding raw bytes, tolerances, units in the last place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_PLAIN: dict[str, str] = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "complex64": "<c8",
    "complex128": "<c16",
    "int8": "<i1",
    "int16": "<i2",
    "int32": "<i4",
    "int64": "<i8",
    "uint8": "<u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "bool": "<u1",
}


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary floating-point format.

    mantissa: explicit fraction bits; exponent: of the smallest normal number; rtol, atol: defaults of ``torch.testing.assert_close``
    (the 8-bit formats, which it does not know, get one unit in the last place)
    """

    mantissa: int
    exponent: int
    rtol: float
    atol: float

    @property
    def largest(self) -> float:
        """The largest finite number, were it an IEEE format (of the 8-bit ones only float8_e5m2 is)."""
        return float((2.0 - 2.0**-self.mantissa) * 2.0 ** (1 - self.exponent))


FLOATS: dict[str, FloatFormat] = {
    "float64": FloatFormat(52, -1022, 1e-7, 1e-7),
    "float32": FloatFormat(23, -126, 1.3e-6, 1e-5),
    "float16": FloatFormat(10, -14, 1e-3, 1e-5),
    "bfloat16": FloatFormat(7, -126, 1.6e-2, 1e-5),
    "float8_e5m2": FloatFormat(2, -14, 0.25, 1e-5),
    "float8_e4m3fn": FloatFormat(3, -6, 0.125, 1e-5),
    "float8_e5m2fnuz": FloatFormat(2, -15, 0.25, 1e-5),
    "float8_e4m3fnuz": FloatFormat(3, -7, 0.125, 1e-5),
}
_COMPONENT = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}


def real_format(dtype: str) -> FloatFormat | None:
    """The float format of a dtype, or of its real and imaginary parts; None for integers and everything else."""
    return FLOATS.get(_COMPONENT.get(dtype, dtype))


def is_complex(dtype: str) -> bool:
    """Whether elements are pairs of reals."""
    return dtype in _COMPONENT


def is_double(dtype: str) -> bool:
    """Whether the float64 shadow equals the result by construction, and so says nothing."""
    return dtype in ("float64", "complex128")


def decode(data: memoryview | bytes, dtype: str, shape: tuple[int, ...]) -> Array | None:
    """The elements as a numpy array (half and 8-bit floats widened exactly to float32); None for a dtype that has no elements to read.

    Raises ValueError when the bytes are not the right number.
    """
    if dtype in _PLAIN:
        found: Array = np.frombuffer(data, _PLAIN[dtype]).reshape(shape)
        return found.astype(np.bool_) if dtype == "bool" else found
    if dtype == "bfloat16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if dtype == "complex32":
        halves = np.frombuffer(data, "<f2").astype(np.float32)
        return halves.view(np.complex64).reshape(shape)
    if dtype in _SMALL:
        return _SMALL[dtype]()[np.frombuffer(data, np.uint8)].reshape(shape)
    return None


def as_reals(array: Array) -> Array:
    """Complex elements as pairs of reals in a last axis of 2; everything else as it is."""
    if np.iscomplexobj(array):
        return np.stack((array.real, array.imag), axis=-1)
    return array


def ulp(values: Floats, dtype: str) -> Floats:
    """The distance between neighbours of ``dtype`` at each value (float64, same shape); subnormal spacing near zero."""
    form = real_format(dtype)
    assert form is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        exponents = np.floor(np.log2(np.abs(values)))
    exponents = np.where(np.isfinite(exponents), exponents, form.exponent)
    return np.asarray(np.exp2(np.clip(exponents, form.exponent, 1023) - form.mantissa))


def _table(exponent_bits: int, mantissa_bits: int, bias: int, special: str) -> Array:
    """All 256 values of an 8-bit float. ``special``: ``ieee`` (inf and nan), ``fn`` (one nan), ``fnuz`` (nan is 0x80, no -0)."""
    values = np.empty(256, np.float32)
    for code in range(256):
        sign = -1.0 if code & 0x80 else 1.0
        exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1)
        fraction = code & ((1 << mantissa_bits) - 1)
        top = exponent == (1 << exponent_bits) - 1
        if special == "fnuz" and code == 0x80:
            values[code] = np.nan
        elif special == "ieee" and top:
            values[code] = sign * np.inf if fraction == 0 else np.nan
        elif special == "fn" and top and fraction == (1 << mantissa_bits) - 1:
            values[code] = np.nan
        elif exponent == 0:
            values[code] = sign * fraction * 2.0 ** (1 - bias - mantissa_bits)
        else:
            values[code] = sign * (1 + fraction / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
    return values


_SMALL: dict[str, Callable[[], Array]] = {
    "float8_e5m2": lambda: _table(5, 2, 15, "ieee"),
    "float8_e4m3fn": lambda: _table(4, 3, 7, "fn"),
    "float8_e5m2fnuz": lambda: _table(5, 2, 16, "fnuz"),
    "float8_e4m3fnuz": lambda: _table(4, 3, 8, "fnuz"),
}
