"""Looking for checkpoints in a traced program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax

from .trees import is_array

_REMAT_NAMES = ("checkpoint", "remat", "remat2")


def _inner_programs(parameters: Mapping[str, Any]) -> Iterator[Any]:
    for value in parameters.values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            program = getattr(part, "jaxpr", part)
            if hasattr(program, "eqns"):
                yield program


def _holds_remat(program: Any) -> bool:
    for equation in program.eqns:
        if equation.primitive.name in _REMAT_NAMES or "Remat" in str(
            type(equation.params.get("_prim")).__name__
        ):
            return True
        if any(_holds_remat(inner) for inner in _inner_programs(equation.params)):
            return True
    return False


def applies_remat(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether tracing a function meets a checkpoint, nested programs included.

    Args:
        function: what to trace; it must return arrays.
        args: positional arguments.
        kwargs: keyword arguments.
    """
    leaves, tree = jax.tree_util.tree_flatten((tuple(args), dict(kwargs)))
    places = [at for at, leaf in enumerate(leaves) if is_array(leaf)]

    def call(*arrays: Any) -> Any:
        filled = list(leaves)
        for at, leaf in zip(places, arrays, strict=True):
            filled[at] = leaf
        call_args, call_kwargs = jax.tree_util.tree_unflatten(tree, filled)
        return function(*call_args, **call_kwargs)

    return _holds_remat(jax.make_jaxpr(call)(*[leaves[at] for at in places]).jaxpr)
