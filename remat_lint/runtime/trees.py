"""One run of a function: its outputs and its gradients as named leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, jax.Array)


@dataclass(frozen=True)
class Observation:
    """What one run gave.

    Attributes:
        structure: text of the output tree, without addresses, so that trees of two loadings of a class agree.
        outputs: array leaves of the output by key path (`out['loss']`).
        gradients: gradients of the float array arguments by key path (`grad[0]['W1']`).
        others: output leaves that are no numbers, as text.
    """

    structure: str
    outputs: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]
    others: dict[str, str]


def is_array(leaf: Any) -> bool:
    """Whether a leaf is a numpy or JAX array (a tracer is one)."""
    return isinstance(leaf, (np.ndarray, np.generic, jax.Array))


def is_differentiable(leaf: Any) -> bool:
    """Whether a gradient can be taken by a leaf: an array of floats; Python numbers stay what they are."""
    return is_array(leaf) and bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


def _is_key(leaf: Any) -> TypeGuard[jax.Array]:
    return is_array(leaf) and bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


@dataclass
class _Outline:
    """The part of an output tree that is no array; filled while the function runs or is traced."""

    structure: str = ""
    value_names: list[str] = field(default_factory=list)
    carried_names: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)

    def split(self, result: Any) -> tuple[list[Any], list[Any]]:
        """Separates float leaves from other array leaves and remembers the rest."""
        paths, tree = jax.tree_util.tree_flatten_with_path(result)
        self.structure = _ADDRESS.sub("0x", str(tree))
        self.value_names, self.carried_names, self.others = [], [], {}
        values: list[Any] = []
        carried: list[Any] = []
        for path, leaf in paths:
            name = "out" + jax.tree_util.keystr(path)
            if not isinstance(leaf, _NUMBERS):
                self.others[name] = leaf if isinstance(leaf, str) else type(leaf).__qualname__
                continue
            array = jax.random.key_data(leaf) if _is_key(leaf) else jnp.asarray(leaf)
            inexact = is_differentiable(array)
            (values if inexact else carried).append(array)
            (self.value_names if inexact else self.carried_names).append(name)
        return values, carried


def _cotangent(value: jax.Array) -> jax.Array:
    """A fixed cotangent that varies, since errors which sum to zero hide behind one of ones."""
    return jnp.cos(jnp.arange(value.size)).reshape(value.shape).astype(value.dtype)


def _argument_names(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    positional = jax.tree_util.tree_flatten_with_path(tuple(args))[0]
    named = jax.tree_util.tree_flatten_with_path(dict(kwargs))[0]
    return ["grad" + jax.tree_util.keystr(path) for path, _ in [*positional, *named]]


def observe(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    compiled: bool,
    differentiate: bool = True,
) -> Observation:
    """Runs a function once, forward and, with `differentiate`, backward.

    Float arrays are differentiated. With `compiled` all arrays are arguments of one `jit`; Python numbers, strings
    and objects among the arguments stay as they are.

    Args:
        function: what to run; it may return any tree of arrays, numbers and other objects.
        args: positional arguments.
        kwargs: keyword arguments.
        compiled: whether the whole run is compiled.
        differentiate: whether gradients by the float arrays are taken.
    """
    leaves, tree = jax.tree_util.tree_flatten((tuple(args), dict(kwargs)))
    names = _argument_names(args, kwargs)
    moving = [at for at, leaf in enumerate(leaves) if differentiate and is_differentiable(leaf)]
    fixed = [at for at, leaf in enumerate(leaves) if is_array(leaf) and at not in moving]
    outline = _Outline()

    def run(differentiable: list[Any], carried: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        def call(inputs: list[Any]) -> tuple[list[Any], list[Any]]:
            filled = list(leaves)
            for at, leaf in zip([*moving, *fixed], [*inputs, *carried], strict=True):
                filled[at] = leaf
            call_args, call_kwargs = jax.tree_util.tree_unflatten(tree, filled)
            return outline.split(function(*call_args, **call_kwargs))

        if not differentiable:
            values, others = call([])
            return values, others, []
        values, pull_back, others = jax.vjp(call, differentiable, has_aux=True)
        (gradients,) = pull_back([_cotangent(value) for value in values])
        return values, others, gradients

    started = jax.jit(run) if compiled else run
    values, others, gradients = started([leaves[at] for at in moving], [leaves[at] for at in fixed])
    output_names = [*outline.value_names, *outline.carried_names]
    outputs = dict(zip(output_names, map(np.asarray, [*values, *others]), strict=True))
    by_argument = dict(zip([names[at] for at in moving], map(np.asarray, gradients), strict=True))
    return Observation(outline.structure, outputs, by_argument, outline.others)
