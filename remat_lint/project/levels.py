"""How sure it is that a value is traced, and how operations and known calls pass it on."""

from __future__ import annotations

from enum import IntEnum

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import effects


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DERIVATIVES = _names("grad value_and_grad vmap hessian jacfwd jacrev jacobian")


class Level(IntEnum):
    """What is known of a value during a trace.

    NONE is a Python or numpy value, or something of which nothing is known. MAYBE came out of a traced value in a
    way that may also give a Python value: an item of an unknown container, an attribute, an unknown call. ARRAY is
    a concrete `jax.Array` from outside the trace: storing it is harmless, computing with it gives a traced value.
    """

    NONE = 0
    MAYBE = 1
    ARRAY = 2
    TRACED = 3


ARRAY_METHODS = _names("""all any argmax argmin argsort astype clip conj copy cumprod cumsum diagonal dot flatten max mean min prod
    ravel repeat reshape round sort squeeze std sum swapaxes take trace transpose var view""")
"""Methods that an array of JAX has and few other values have; each gives an array."""

ARRAY_ATTRIBUTES = _names("T mT real imag")

CONTAINERS = frozenset(
    f"builtins.{name}"
    for name in ("list", "tuple", "dict", "set", "reversed", "sorted", "zip", "iter", "enumerate", "next")
) | {"copy.copy", "copy.deepcopy", "jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves"}
"""Calls whose result holds the values of their operands."""

CONTAINER_METHODS = _names("copy get items pop popitem values")

COMPUTING = frozenset(f"builtins.{name}" for name in ("abs", "divmod", "max", "min", "pow", "sum"))
"""Builtins that compute with the operators of their operands."""

TRANSFORMED = frozenset(
    f"{package}.{name}" for package in ("jax", "flax.nnx") for name in sorted(_DERIVATIVES)
) | {
    "jax.jit",
    "jax.pmap",
    "jax.experimental.pjit.pjit",
    "flax.nnx.jit",
}
"""Transformations whose result returns arrays of the trace only."""

_LAYER_PACKAGES = ("flax.linen.", "flax.nnx.", "equinox.nn.", "haiku.")
_ACTIVATIONS = _names("""celu elu gelu glu hard_tanh leaky_relu log_sigmoid log_softmax normalize one_hot relu relu6 selu sigmoid silu
    soft_sign softmax softplus swish tanh avg_pool max_pool dot_product_attention""")
COMPUTES = _names("+ - * / // % ** @ << >> & | ^ ~")
"""Operators that give a traced value for a traced operand."""

_COMPARES = _names("== != < > <= >=")


def compares(op: str) -> bool:
    """Whether an operator compares values, or is a chain of such (`<,<=`)."""
    return bool(op) and all(part in _COMPARES for part in op.split(","))


def is_activation(dotted: str) -> bool:
    """Whether `dotted` is a function of a framework that returns an array of the trace for a traced operand."""
    package, _, name = dotted.rpartition(".")
    return f"{package}." in _LAYER_PACKAGES and name in _ACTIVATIONS


def is_layer(dotted: str) -> bool:
    """Whether `dotted` is a layer class of a framework: calling an instance returns arrays."""
    package, _, name = dotted.rpartition(".")
    return (
        f"{package}." in _LAYER_PACKAGES
        and name[:1].isupper()
        and name not in ("Module", "Rngs", "Sequential")
    )


def combine(op: str, levels: tuple[Level, ...]) -> Level:
    """Return the level of an operation over operands of these levels."""
    highest = max(levels, default=Level.NONE)
    if op in ("and", "or", "star"):
        return highest
    if op in COMPUTES or compares(op):
        if highest in (Level.ARRAY, Level.TRACED) or (op == "@" and highest is Level.MAYBE):
            return Level.TRACED
        return highest
    return Level.NONE


def attribute_level(attr: str, base: Level) -> Level:
    """Return the level of `value.attr` for a value of level `base`."""
    if base is Level.NONE or attr in effects.STATIC_ATTRIBUTES:
        return Level.NONE
    if attr in ARRAY_ATTRIBUTES:
        return Level.TRACED if base is Level.ARRAY else base
    return Level.MAYBE


def position_of(name: n.Expression | None, target: n.Expression | None) -> tuple[int, ...] | None:
    """Return where `name` stands inside the unpacking `target`; None if it does not."""
    if name is target:
        return ()
    if isinstance(target, n.Operation) and target.op == "star":
        return position_of(name, target.operands[0])
    if isinstance(target, n.Collection):
        for index, item in enumerate(target.items):
            inner = position_of(name, item)
            if inner is not None:
                return (index, *inner)
    return None
