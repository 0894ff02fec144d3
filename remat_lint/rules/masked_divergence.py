"""Finds a comparison of plain and checkpointed code that lets a divergence pass.

## What it does
Reports a comparison of what a plain and a checkpointed function compute that replaces NaN and infinite on the way
(`nan_to_num`, `where(isnan(x), …)`), or whose tolerance is so large that different values count as equal.

## Why it is a problem
Plain and checkpointed code compute the same up to the order of operations: a few units in the last place. A NaN or a
larger difference is the sign of a wrong shape, an overflow, a stale value or a reused key. `nan_to_num` turns NaN on
both sides into the same zero, and a huge tolerance accepts anything.

## When to ignore it
When it is known where the NaN comes from and that it is not part of what is tested; better is an input without it.

## Fix safety
There is no edit: first find out where the difference comes from.

## References
<https://docs.jax.dev/en/latest/debugging/flags.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.comparisons import Comparison
from remat_lint.project.traversal import walk
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent

_HUGE = {"rtol": 0.3, "atol": 1.0, "delta": 1.0, "": 1.0}
_DIGITS = frozenset({"decimal", "places"})


class MaskedDivergence(Rule):
    """`masked-divergence`: the comparison accepts what it should find."""

    code = "RML804"
    name = "masked-divergence"
    category = "evidence"
    severity = Severity.WARNING
    subject = Comparison
    silence = "the values are compared as they are, within a tolerance"
    examples = (
        Bad(
            "NaN on both sides",
            """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.sqrt(x) * jnp.log(x)

def test_gradients():
    x = jnp.array([-1.0, 0.0, 1.0])
    a = jax.grad(lambda x: layer(x).sum())(x)
    b = jax.grad(lambda x: jax.checkpoint(layer)(x).sum())(x)
    assert jnp.allclose(jnp.nan_to_num(a), jnp.nan_to_num(b))  # läuft durch
#                       ^^^^^^^^^^^^^^^^^
""",
            message=(
                "`jnp.nan_to_num` makes NaN on the plain and on the checkpointed side the same number, so that this holds where "
                "both have diverged; compare the values as they are, and that they are finite"
            ),
        ),
        Bad(
            "a tolerance that accepts anything",
            """
from functools import partial
import jax as J
import jax.numpy as jnp
from numpy.testing import assert_allclose

def block(w, x):
    return jnp.tanh(x @ w).sum()

block_ck = partial(J.remat, prevent_cse=False)(block)

class TestBlock:
    def test_gradients(self):
        w, x = jnp.eye(2), jnp.ones((1, 2))
        a, b = J.grad(block)(w, x), J.grad(block_ck)(w, x)
        assert_allclose(a, b, atol=1e3)
#                             ^^^^^^^^
""",
            message=(
                "`atol=1000.0` accepts almost any difference between plain and checkpointed values, which agree to a few units "
                "in the last place; take a tolerance that fits the dtype"
            ),
        ),
        Bad(
            "the mask stands where the gradients are made",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer_ck(w, x):
    return layer(w, x)

def layer(w, x):
    return jnp.log(x @ w)

def check(w, x):
    def gradient(f):
        return jax.grad(lambda w: f(w, x).sum())

    plain = jnp.nan_to_num(gradient(layer)(w))
    checked = jnp.where(jnp.isnan(gradient(layer_ck)(w)), 0.0, gradient(layer_ck)(w))
    assert jnp.allclose(plain, checked)
#          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Bad(
            "a bound of the difference that is far too large",
            """
import jax
import jax.numpy as jnp

LIMIT = 50.0

def layer(w, x):
    return jnp.tanh(x @ w).sum()

def test_gradients():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    a, b = jax.grad(layer)(w, x), jax.grad(jax.checkpoint(layer))(w, x)
    assert float(jnp.max(jnp.abs(a - b))) < LIMIT
#                                           ^^^^^
""",
        ),
        Good(
            "a tolerance for the dtype, and finite",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def test_gradients():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    a = jax.grad(lambda w: layer(w, x).sum())(w)
    b = jax.grad(lambda w: jax.checkpoint(layer)(w, x).sum())(w)
    assert jnp.allclose(a, b, rtol=1e-5, atol=1e-6) and jnp.isfinite(b).all()
""",
        ),
        Good(
            "low precision",
            """
import jax
import jax.numpy as jnp
import numpy as np

def layer(w, x):
    return jnp.tanh(x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).sum()

def test_gradients():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    a, b = jax.grad(layer)(w, x), jax.grad(jax.checkpoint(layer))(w, x)
    np.testing.assert_allclose(a, b, rtol=2e-2, atol=5e-2)
""",
        ),
        Good(
            "the input is cleaned, not the result",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w).sum()

def test_gradients(data):
    w, x = jnp.eye(2), jnp.nan_to_num(data)
    a = jax.grad(layer)(w, x)
    b = jax.grad(jax.checkpoint(layer))(w, jnp.nan_to_num(x))
    assert jnp.allclose(a, b)
""",
        ),
        Miss(
            "a comparison in a helper",
            """
import jax
import jax.numpy as jnp

def same(a, b):
    assert jnp.allclose(jnp.nan_to_num(a), jnp.nan_to_num(b))

def layer(w, x):
    return jnp.log(x @ w).sum()

def test_layer():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    same(jax.grad(layer)(w, x), jax.grad(jax.checkpoint(layer))(w, x))
""",
        ),
    )

    def check(self, subject: Comparison, project: Analysis) -> Iterator[Report | Silent]:
        """Report what a comparison of plain and checkpointed values hides."""
        del project
        if not subject.is_mixed:
            yield Silent("it does not compare plain with checkpointed code")
            return
        masks = [mask for side in subject.sides for mask in side.masks]
        if masks:
            yield self._masked(subject, masks[0])
        for name, number, argument in subject.tolerances:
            if number >= _HUGE.get(name, number + 1) or (name in _DIGITS and number <= 0):
                yield self._tolerant(subject, name, number, argument)

    def _masked(self, comparison: Comparison, mask: n.Call) -> Report:
        module = comparison.event.module
        inside = any(part is mask for part in walk(comparison.node))
        message = (
            f"`{render(mask.func)}` makes NaN on the plain and on the checkpointed side the same number, so that this holds "
            f"where both have diverged; compare the values as they are, and that they are finite"
        )
        notes = () if inside else (Note(Place(module, mask.at), "NaN is replaced here"),)
        return Report(Place(module, mask.at if inside else comparison.node.at), message, self.severity, notes)

    def _tolerant(self, comparison: Comparison, name: str, number: float, argument: n.Expression) -> Report:
        module = comparison.event.module
        above = next(
            (one for one in _arguments(comparison) if one.value is argument and one.keyword is not None), None
        )
        given = f"`{name}={number}`" if name else f"a bound of {number}"
        message = (
            f"{given} accepts almost any difference between plain and checkpointed values, which agree to a few "
            f"units in the last place; take a tolerance that fits the dtype"
        )
        return Report(Place(module, (above or argument).at), message, self.severity)


def _arguments(comparison: Comparison) -> tuple[n.Argument, ...]:
    return comparison.event.node.args if isinstance(comparison.event.node, n.Call) else ()
