"""Example inputs as descriptions: made into values for each run, so that no run can change another's arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_SPREAD = 0.5
_SHARE_OF_TRUE = 0.7


@dataclass(frozen=True)
class Array:
    """An array to be made: shape, dtype name, and how it is filled (`draws` or `zeros`)."""

    shape: tuple[int, ...]
    dtype: str
    fill: str = "draws"

    def build(self, draws: np.random.Generator) -> jax.Array:
        """Floats are normal with deviation 0.5, integers 0 or 1, booleans mostly true."""
        dtype = jnp.dtype(self.dtype)
        if self.fill == "zeros":
            return jnp.zeros(self.shape, dtype)
        if dtype == jnp.bool_:
            return jnp.asarray(draws.random(self.shape) < _SHARE_OF_TRUE)
        if jnp.issubdtype(dtype, jnp.integer):
            return jnp.asarray(draws.integers(0, 2, self.shape), dtype)
        values = draws.normal(size=self.shape) * _SPREAD
        if jnp.issubdtype(dtype, jnp.complexfloating):
            return jnp.asarray(values + 1j * draws.normal(size=self.shape) * _SPREAD, dtype)
        return jnp.asarray(values, dtype)


@dataclass(frozen=True)
class Key:
    """A typed JAX random key to be made from `seed`."""

    seed: int = 0

    def build(self, _draws: np.random.Generator) -> jax.Array:
        """A fresh key object at every run."""
        return jax.random.key(self.seed)


def array(shape: tuple[int, ...], dtype: str = "float32") -> Array:
    """Describes an array argument; its values are drawn from a fixed seed.

    Args:
        shape: sizes of its axes.
        dtype: name of its dtype, as in `jnp.dtype`.
    """
    return Array(tuple(shape), dtype)


def key(seed: int = 0) -> Key:
    """Describes a random key argument, `jax.random.key(seed)`."""
    return Key(seed)


def _is_description(value: Any) -> bool:
    return isinstance(value, (Array, Key))


def _replace(tree: Any, change: Callable[[Any], Any]) -> Any:
    return jax.tree_util.tree_map(change, tree, is_leaf=_is_description)


def zeros(tree: Any) -> Any:
    """The same description with every array filled with zeros; other values stay."""
    return _replace(tree, lambda leaf: replace(leaf, fill="zeros") if isinstance(leaf, Array) else leaf)


def build(tree: Any, seed: int = 0) -> Any:
    """Makes the values: equal seeds give equal values in every run and every process."""
    draws = np.random.default_rng(seed)
    return _replace(tree, lambda leaf: leaf.build(draws) if _is_description(leaf) else leaf)


def vary(tree: Any) -> Any:
    """Other values of the same types for a second call: floats shrink by a quarter, so they keep sign and order."""

    def change(leaf: Any) -> Any:
        if isinstance(leaf, float):
            return leaf * 0.75
        if isinstance(leaf, (jax.Array, np.ndarray)) and jnp.issubdtype(leaf.dtype, jnp.inexact):
            return (jnp.asarray(leaf) * 0.75).astype(leaf.dtype)
        return leaf

    return jax.tree_util.tree_map(change, tree)


def widen(tree: Any) -> Any | None:
    """The same values with 16-bit floats as float32; None if there are none."""
    found = False

    def change(leaf: Any) -> Any:
        nonlocal found
        if isinstance(leaf, (jax.Array, np.ndarray)) and leaf.dtype in (jnp.float16, jnp.bfloat16):
            found = True
            return jnp.asarray(leaf, jnp.float32)
        return leaf

    widened = jax.tree_util.tree_map(change, tree)
    return widened if found else None
