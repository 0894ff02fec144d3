"""Arguments that must be Python values while JAX traces: shapes, axes, counts, flags; and what a tracer there raises.

Each row was run on JAX 0.10.2 and 0.12.0.1 with a Python number and with a traced one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_TYPE, _INTEGER = "TypeError", "TracerIntegerConversionError"
_CONCRETE, _VALUE, _BOOL = "ConcretizationTypeError", "ValueError", "TracerBoolConversionError"


@dataclass(frozen=True, slots=True)
class ConcreteArgument:
    """One argument that cannot be traced.

    Attributes:
        what: what the argument is, as a message says it.
        positions: its positions in a call; -1 for every one from the first on.
        keywords: its names as a keyword.
        error: what a traced value raises there; empty where it differs by version.
    """

    what: str
    positions: tuple[int, ...]
    keywords: tuple[str, ...]
    error: str


def _rows(  # noqa: PLR0913, PLR0917 - the columns of the table
    prefix: str, names: str, what: str, positions: tuple[int, ...], keywords: str, error: str
) -> dict[str, ConcreteArgument]:
    row = ConcreteArgument(what, positions, tuple(keywords.split()), error)
    return {f"{prefix}{name}": row for name in names.split()}


_SHAPE, _AXIS, _LENGTH = "a shape", "an axis", "a length"

CONCRETE_ARGUMENTS: Mapping[str, ConcreteArgument] = MappingProxyType(
    {
        **_rows("builtins.", "range", "the bound of `range`", (0, 1, 2), "", _INTEGER),
        **_rows("numpy.", "zeros ones empty full", _SHAPE, (0,), "shape", _TYPE),
        **_rows("jax.numpy.", "zeros ones empty full", _SHAPE, (0,), "shape", _TYPE),
        **_rows("jax.numpy.", "eye identity tri", _SHAPE, (0,), "N n", _TYPE),
        **_rows("jax.numpy.", "arange", _LENGTH, (0, 1, 2), "start stop step", _CONCRETE),
        **_rows("jax.numpy.", "linspace", _LENGTH, (2,), "num", _CONCRETE),
        **_rows("jax.numpy.", "reshape broadcast_to", _SHAPE, (1,), "shape", _TYPE),
        **_rows("jax.numpy.", "tile", _SHAPE, (1,), "reps", _TYPE),
        **_rows(
            "jax.numpy.", "split array_split", "a number of parts", (1,), "indices_or_sections", _CONCRETE
        ),
        **_rows(
            "jax.numpy.", "sum mean prod max min amax amin any all std var", _AXIS, (1,), "axis", _CONCRETE
        ),
        **_rows("jax.numpy.", "expand_dims squeeze flip", _AXIS, (1,), "axis", _CONCRETE),
        **_rows("jax.numpy.", "argmax argmin", _AXIS, (1,), "axis", _INTEGER),
        **_rows("jax.numpy.", "concatenate stack", _AXIS, (1,), "axis", _INTEGER),
        **_rows("jax.numpy.", "sort argsort cumsum cumprod", _AXIS, (1,), "axis", _VALUE),
        **_rows("jax.numpy.", "swapaxes", _AXIS, (1, 2), "axis1 axis2", _VALUE),
        **_rows("jax.numpy.", "moveaxis", _AXIS, (1, 2), "source destination", _CONCRETE),
        **_rows("jax.numpy.", "take", _AXIS, (2,), "axis", _INTEGER),
        **_rows("jax.numpy.", "tril triu", "the number of a diagonal", (1,), "k", _VALUE),
        **_rows("jax.numpy.", "diag", "the number of a diagonal", (1,), "k", _INTEGER),
        **_rows("jax.numpy.", "pad", "a width", (1,), "pad_width", _CONCRETE),
        **_rows("jax.numpy.linalg.", "norm", "an order", (1,), "ord", _VALUE),
        **_rows("jax.nn.", "one_hot", "a number of classes", (1,), "num_classes", _CONCRETE),
        **_rows("jax.nn.", "softmax log_softmax", _AXIS, (1,), "axis", _CONCRETE),
        **_rows("jax.lax.", "scan", _LENGTH, (3,), "length", _CONCRETE),
        **_rows("jax.lax.", "top_k", "a number of items", (1,), "k", _BOOL),
        **_rows("jax.lax.", "dynamic_slice_in_dim", "a length", (2,), "slice_size", _INTEGER),
        **_rows("jax.lax.", "iota", _LENGTH, (1,), "size", _TYPE),
        **_rows("jax.lax.", "broadcast", _SHAPE, (1,), "sizes", _TYPE),
        **_rows("jax.random.", "split", "a number of keys", (1,), "num", _TYPE),
        **_rows("jax.random.", "normal uniform", _SHAPE, (1,), "shape", _TYPE),
    }
)
"""By dotted name of the function that is called."""

CONCRETE_IN_METHODS: Mapping[str, ConcreteArgument] = MappingProxyType(
    {
        **_rows("", "reshape", _SHAPE, (-1,), "shape", _TYPE),
        **_rows("", "sum mean prod max min any all std var", _AXIS, (0,), "axis", _CONCRETE),
        **_rows("", "squeeze", _AXIS, (0,), "axis", _CONCRETE),
        **_rows("", "argmax argmin", _AXIS, (0,), "axis", _INTEGER),
        **_rows("", "cumsum cumprod", _AXIS, (0,), "axis", _VALUE),
        **_rows("", "swapaxes", _AXIS, (0, 1), "", _VALUE),
    }
)
"""By name of the method of an array."""

_FLAG = "a flag"
LAYER_FLAGS: Mapping[str, ConcreteArgument] = MappingProxyType(
    {
        **_rows("flax.linen.", "Dropout", _FLAG, (1,), "deterministic", _BOOL),
        **_rows("flax.linen.", "BatchNorm", _FLAG, (1,), "use_running_average", _BOOL),
        **_rows("flax.nnx.", "Dropout", _FLAG, (), "deterministic", _BOOL),
        **_rows("flax.nnx.", "BatchNorm", _FLAG, (), "use_running_average", _BOOL),
        **_rows("haiku.", "BatchNorm", _FLAG, (1,), "is_training", _BOOL),
    }
)
"""Layers that ask a flag given at the call of an instance whether it is true, by dotted name of the class."""

LAYER_OPTIONS: Mapping[str, ConcreteArgument] = MappingProxyType(
    {
        **_rows("flax.linen.", "Dropout", _FLAG, (), "deterministic", _BOOL),
        **_rows("flax.linen.", "BatchNorm", _FLAG, (0,), "use_running_average", _BOOL),
    }
)
"""The same for a flag given where the layer is made."""
