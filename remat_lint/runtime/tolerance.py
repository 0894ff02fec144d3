"""How far two runs may differ, leaf by leaf.

Under one compiler a checkpointed function differs from its plain form by fusion only: on CPU mostly by nothing, at
most by a few units of rounding. The measure is the relative L2 difference of a leaf, because the largest single
element says little in low precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from .outcomes import LeafError

EPS_ALLOWED = 16
_EAGER_EPS_CAP, _EAGER_ABSOLUTE_CAP = 1024, 1e-3

RULE = (
    f"relative L2 of each float leaf <= {EPS_ALLOWED} eps of its dtype, at least {EPS_ALLOWED} eps of the RMS of "
    "the whole tree; all other leaves equal"
)


@dataclass(frozen=True)
class Widening:
    """A limit set by the user, with the reason that stands in the report."""

    relative: float
    why: str


def is_inexact(values: np.ndarray) -> bool:
    """Whether the dtype is a float or complex one, low-precision kinds included."""
    return bool(jnp.issubdtype(values.dtype, jnp.inexact))


def _wide(values: np.ndarray) -> np.ndarray:
    kind = np.complex128 if jnp.issubdtype(values.dtype, jnp.complexfloating) else np.float64
    return values.astype(kind)


def _norm(values: np.ndarray) -> float:
    return float(np.linalg.norm(_wide(values).ravel()))


def root_mean_square(leaves: list[np.ndarray]) -> float:
    """RMS over all elements of all float leaves; 0 without any."""
    floats = [leaf for leaf in leaves if is_inexact(leaf)]
    size = sum(leaf.size for leaf in floats)
    return math.sqrt(sum(_norm(leaf) ** 2 for leaf in floats) / size) if size else 0.0


def relative_difference(plain: np.ndarray, other: np.ndarray) -> float:
    """‖other - plain‖ / ‖plain‖ in L2; infinite if only the plain norm is zero."""
    difference, scale = _norm(_wide(other) - _wide(plain)), _norm(plain)
    if difference == 0:
        return 0.0
    return difference / scale if scale else math.inf


def judge(  # noqa: PLR0913 - what a limit depends on
    name: str,
    plain: np.ndarray,
    other: np.ndarray,
    *,
    tree_rms: float,
    eager_against_jit: float = 0.0,
    widening: Widening | None = None,
) -> LeafError:
    """Compares one leaf of both sides, which have one shape and dtype.

    Args:
        name: key path of the leaf.
        plain: values of the plain side.
        other: values of the checkpointed side.
        tree_rms: RMS of the whole tree of the plain side.
        eager_against_jit: what compiling alone changes on the plain side; widens the limit of eager runs.
        widening: a limit the user has set.
    """
    shape, dtype = tuple(plain.shape), str(plain.dtype)
    if not is_inexact(plain):
        unequal = int(np.sum(plain != other))
        return LeafError(name, shape, dtype, float(unequal), 0.0, f"{dtype}, exact")
    finfo: Any = jnp.finfo  # untyped in jax
    eps = float(finfo(plain.dtype).eps)
    limit, origin = EPS_ALLOWED * eps, f"{dtype}, {EPS_ALLOWED} eps"
    cap = max(limit, min(_EAGER_EPS_CAP * eps, _EAGER_ABSOLUTE_CAP))
    if min(4 * eager_against_jit, cap) > limit:
        limit = min(4 * eager_against_jit, cap)
        origin = f"{dtype}, 4 times what compiling alone changes"
    if widening is not None:
        limit, origin = widening.relative, f"{dtype}, set by the test: {widening.why}"
    error, scale = relative_difference(plain, other), _norm(plain)
    floor = EPS_ALLOWED * eps * tree_rms * math.sqrt(plain.size)
    if 0 < limit * scale < floor:
        limit, origin = floor / scale, f"{dtype}, {EPS_ALLOWED} eps of the RMS of the tree"
    elif scale == 0 and error and _norm(other) <= floor:
        error, origin = 0.0, f"{dtype}, {EPS_ALLOWED} eps of the RMS of the tree"
    return LeafError(name, shape, dtype, error, limit, origin)
