"""The check that a function computes the same with its checkpoints as without them.

A stage is the way in which both sides run. Eager comes first: there plain Python runs the body of every checkpointed
function at every call, so a value that a kept trace has frozen shows as a difference, and a Python flag is seen as it
was given. A second eager call with other values meets what the first one left behind. The compiled stage follows,
where rounding is alike on both sides. Inside a stage the order is: raised, tree, shapes and dtypes, finiteness, noise
of the plain side, values, gradients.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from . import inputs
from .comparison import compare_leaves, compare_shapes, require_finite, require_repeatable
from .modules import Target, find_target, load_fresh
from .outcomes import Evidence, Mismatch, NotVerified
from .plain import UnsupportedJax, count_applied, no_remat
from .tolerance import RULE, Widening, is_inexact
from .trees import Observation, is_array, observe

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
observers: list[Callable[[Evidence], None]] = []


@dataclass(frozen=True)
class _Raised:
    """A run that ended in an exception."""

    error: Exception

    def __str__(self) -> str:
        text = str(self.error).strip().splitlines()
        return f"{type(self.error).__name__}: {text[0]}" if text else type(self.error).__name__


@dataclass(frozen=True)
class _Subject:
    """What is run: a function found anew for each side, or one given function with the state it has."""

    target: Target | None
    function: Callable[..., Any] | None
    args: Any
    kwargs: Mapping[str, Any]

    @contextmanager
    def open(self) -> Iterator[tuple[Callable[..., Any], Arguments]]:
        """Gives the function and its arguments, both made for this run."""
        if self.target is None:
            assert self.function is not None
            yield self.function, self._arguments(None)
            return
        with load_fresh(self.target) as (module, function):
            yield function, self._arguments(module)

    def _arguments(self, module: Any) -> Arguments:
        args = self.args(module) if callable(self.args) else self.args
        built_args, built_kwargs = inputs.build((tuple(args), dict(self.kwargs)))
        return built_args, built_kwargs

    def run(
        self, *, plain: bool, compiled: bool = False, change: Callable[[Any], Any] | None = None, twice: bool = False
    ) -> list[Observation | _Raised]:
        """Runs one side: loads it, calls it once or twice, and keeps what came out or was raised."""
        runs: list[Observation | _Raised] = []
        try:
            with no_remat() if plain else nullcontext(), self.open() as (function, arguments):
                given = arguments if change is None else change(arguments)
                for values in (given, inputs.vary(given)) if twice else (given,):
                    runs.append(observe(function, *values, compiled=compiled))
        except UnsupportedJax:
            raise
        except Exception as error:  # the user's program may raise anything, and that is a result
            runs.append(_Raised(error))
        return runs


def _holds_remat(jaxpr: Any) -> bool:
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("checkpoint", "remat", "remat2") or "Remat" in str(equation.params.get("_prim")):
            return True
        inner = [part for value in equation.params.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(_holds_remat(getattr(part, "jaxpr", part)) for part in inner if hasattr(getattr(part, "jaxpr", part), "eqns")):
            return True
    return False
